import type { Artifact, ArtifactSpace } from "../../journal/artifact-space.ts";
import { plainFault, PortcullisError, readerOf, type Share, asUntrusted } from "../../base/index.ts";
import type { RedactTarget } from "../../journal/redaction/redact-option.ts";
import type { Redactor } from "../../journal/redaction/redactor.ts";
import { jsonSchema } from "../../tools/schema.ts";
import type { CallContext, Tool } from "../../tools/tool.ts";
import { LOAD_ARTIFACT, SAVE_ARTIFACT } from "../../tools/tool-name.ts";
import { artifactNameFault, artifactUnknown, ARTIFACT_NAME_LENGTH } from "./artifact-name.ts";
import { describeValue, type ValueDescription } from "../run/describe-value.ts";
import type { OpenCall } from "../open-call.ts";
import type { ReadInput } from "../admit/read-input.ts";

/** Where the programs of a session keep values. */
export interface ArtifactPlace {
  readonly space: ArtifactSpace;
  /** Tells this session's calls from those of other programs of the conversation: `call_2/`, or nothing. */
  readonly prefix: string;
}

/** A handler's result that is JSON text already, and is read only when there is room for it. */
export class StoredResult {
  readonly bytes: number;
  readonly shape: string;
  readonly read: () => Promise<string>;
  // oxlint-disable-next-line no-unused-private-class-members -- `in` asks for it
  readonly #isOwn = true;

  /** Asks nothing of a value of others, which may be a proxy. */
  static [Symbol.hasInstance](value: unknown): value is StoredResult {
    return typeof value === "object" && value !== null && #isOwn in value;
  }

  constructor({ bytes, shape }: Pick<Artifact, "bytes" | "shape">, read: () => Promise<string>) {
    this.bytes = bytes;
    this.shape = shape;
    this.read = read;
  }
}

interface SaveInput extends ValueDescription {
  readonly name: string;
  readonly text: string;
  readonly bytes: number;
}

/**
 * `save` and `load` of the programs of a session. The input of a save is the value itself, and its name stands beside it.
 * `allowed` is the number of names that there may be.
 */
export function sessionArtifacts(place: ArtifactPlace, allowed = Infinity, share: Share, redactor?: Redactor) {
  return {
    tools: [
      keepingTool(SAVE_ARTIFACT, SAVE_INPUT, (input, { callId }) => save(place, input as SaveInput, callId)),
      keepingTool(LOAD_ARTIFACT, LOAD_INPUT, (input) => load(place, (input as { readonly name: string }).name)),
    ],

    /** Reads the input of a save without parsing the value. Undefined if the call ends first. */
    async readSave(call: OpenCall): Promise<ReadInput | undefined> {
      const { artifact: name = "", inputText: text } = call;
      const { lane } = share;
      const reader = readerOf(share, call.signal);
      const faultOfName = artifactNameFault(name) ?? (await redactedFault(name, redactor));
      const faultOfValue = faultOfName ?? (await plainFault(asUntrusted(text), reader));
      const fault = faultOfValue ?? ((await redactor?.changes(text)) ? VALUE_REDACTED : undefined);
      if (call.isOver) return undefined;
      if (fault !== undefined) return { ok: false, reason: fault };
      const seen = place.space.reserve(name, allowed);
      if (seen !== undefined) return { ok: "no_room", overdraft: { limit: "artifacts", allowed, seen } };
      const described = await describeValue(text, lane, redactor);
      if (call.isOver) return undefined;
      return { ok: true, value: { name, text, bytes: call.inputBytes, ...described } satisfies SaveInput };
    },

    /** Why a call of this tool with this input cannot be made: a load of a name under which nothing is kept. */
    faultOf(tool: string, input: unknown): string | undefined {
      if (tool !== LOAD_ARTIFACT) return undefined;
      const { name } = input as { readonly name: string };
      const { space } = place;
      if (space.find(name)) return undefined;
      return artifactUnknown(name, space.all);
    },
  };
}

export type SessionArtifacts = ReturnType<typeof sessionArtifacts>;

/** Models, clients and people find a value by its name: a name that redaction would change is refused. */
async function redactedFault(name: string, redactor: Redactor | undefined): Promise<string | undefined> {
  for (const to of TARGETS) {
    const { count = 0 } = (await redactor?.text(name, { to })) ?? {};
    if (count > 0) return NAME_REDACTED;
  }
  return undefined;
}

async function save({ space, prefix }: ArtifactPlace, { name, text, ...described }: SaveInput, callId: string) {
  const call = prefix + callId;
  // A save whose answer was lost with its host is not repeated: it could undo a later save.
  const saved = space.savedBy(call) ?? { name, call, ...described };
  if (!space.savedBy(call)) await space.save(saved, { value: text });
  return { artifact: saved.name, bytes: saved.bytes, shape: saved.shape };
}

function load({ space }: ArtifactPlace, name: string): StoredResult {
  const found = space.find(name);
  // The artifact was there when the call was checked, and nothing deletes artifacts.
  if (!found) throw new Error(`The artifact ${JSON.stringify(name)} is gone.`);
  return new StoredResult(found, async () => {
    const { value, redacted } = await space.read(found);
    if (redacted === undefined) return value;
    throw new PortcullisError("tool_failed", `${JSON.stringify(name)} is not what was kept: ${REDACTED}`);
  });
}

const TARGETS: readonly RedactTarget[] = ["model", "journal", "log"];
const REDACTED =
  "secrets are taken out of what is kept. Call the tool that gave the value in the program that computes with it";
const VALUE_REDACTED = `the value would not be loaded as it is: ${REDACTED}`;
const NAME_REDACTED =
  "its name holds something that is taken out of texts, and a name cannot be changed: choose another one";

function keepingTool(
  name: string,
  input: Tool["inputSchema"],
  handler: (input: unknown, context: CallContext) => unknown,
): Tool {
  return {
    name,
    description: "Keeps values outside of the context.",
    inputSchema: input,
    outputSchema: undefined,
    allowedCallers: ["programmatic"],
    effect: name === SAVE_ARTIFACT ? "idempotent" : "read",
    approvable: false,
    needsApproval: () => false,
    concurrency: Infinity,
    timeoutMs: 60_000,
    execute: handler,
    onUnknown: "retry",
  };
}

const NAME = { type: "string", description: "the name under which the value is kept" };
const SAVE_INPUT = jsonSchema({ type: "object", properties: { name: NAME, value: {} }, required: ["name", "value"] });
const LOAD_INPUT = jsonSchema({
  type: "object",
  // An unknown name is compared with all others.
  properties: { name: { ...NAME, maxLength: ARTIFACT_NAME_LENGTH } },
  required: ["name"],
  additionalProperties: false,
});
