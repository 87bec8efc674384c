/*
 * Declarations of an owner's tools: what workers need of them in place of their code. They travel in the header of each
 * execution that is submitted with the owner.
 */
import { hash } from "node:crypto";
import { z } from "zod";
import { errorAt, PortcullisError } from "../errors.ts";
import { given } from "../option-rules/given.ts";
import { defineTextTool } from "../tools/define-text-tool.ts";
import { defineTool, runsAt, TIMEOUT_MS } from "../tools/define-tool.ts";
import type { JsonSchema } from "../tools/json-schema/json-schema.ts";
import { storedSchema } from "../tools/schema.ts";
import { CALLERS, EFFECTS, needsApprovalAlways, ON_UNKNOWN, type Tool } from "../tools/tool.ts";
import { jsonSchemaOf } from "../tools/tool-schemas.ts";

/** Where the calls of such a tool run, as lists of tools say it. */
export const OWNER = "owner";
/** Length of the declarations of one execution, in UTF-16 code units. */
export const DECLARED_LENGTH = 4 * 1024 * 1024;

const schema = z.record(z.string(), z.unknown());
const DECLARED = z.strictObject({
  name: z.string(),
  description: z.string(),
  /** The JSON Schema of its input; missing for a tool that takes one text. */
  input: schema.exactOptional(),
  format: z.union([z.literal("text"), z.strictObject({ regex: z.string() })]).exactOptional(),
  output: schema.exactOptional(),
  callers: z.array(z.enum(CALLERS)),
  effect: z.enum(EFFECTS),
  /** `by input`: the owner is asked. */
  approval: z.enum(["never", "always", "by input"]),
  unknownFields: z.enum(["refuse", "allow"]),
  timeoutMs: z.int().positive(),
  onUnknown: z.enum(ON_UNKNOWN),
  /** Its calls are answered by `runtime.answer`, and no owner is asked. */
  client: z.literal(true).exactOptional(),
  reusable: z.boolean().exactOptional(),
  pinned: z.boolean().exactOptional(),
  defer: z.boolean().exactOptional(),
  tags: z.array(z.string()).exactOptional(),
  instructions: z.string().exactOptional(),
  source: z.string().exactOptional(),
});
export type Declared = z.infer<typeof DECLARED>;
const ALL = z.array(DECLARED).max(10_000);

/** Throws `option_invalid` for a tool that only a worker itself could run. */
export function declare(tool: Tool): Declared {
  const { name, description, input, output, effect, handler, textFormat, timeoutMs, unknownFields = "refuse" } = tool;
  const why = tool.stream ? "it streams" : tool.place === "agent" && "it runs an agent";
  if (why)
    throw new PortcullisError(
      "option_invalid",
      `createOwner({ tools }): ${name} cannot be called over HTTP: ${why}. Give it to the workers (createRuntime({ tools })).`,
    );
  const { reusable, pinned, defer, tags, instructions, source, allowedCallers, onUnknown } = tool;
  return {
    name,
    description,
    ...(textFormat === undefined ? { input: plain(jsonSchemaOf(name, "input", input)) } : { format: textFormat }),
    ...(output && { output: plain(jsonSchemaOf(name, "output", output)) }),
    callers: [...allowedCallers],
    effect,
    approval: approvalOf(tool),
    unknownFields,
    timeoutMs,
    onUnknown,
    ...(handler === "client" ? { client: true } : {}),
    ...given({ reusable, pinned, defer, instructions, source, tags: tags && [...tags] }),
  };
}

/** As it travels: what a library adds to its schemas beside JSON stays here. */
function plain(json: JsonSchema): Record<string, unknown> {
  return JSON.parse(JSON.stringify(json)) as Record<string, unknown>;
}

function approvalOf({ approvable, needsApproval }: Tool): Declared["approval"] {
  if (!approvable) return "never";
  return needsApproval === needsApprovalAlways ? "always" : "by input";
}

const digests = new WeakMap<Declared, string>();

/** SHA-256 in hex of what a call of a tool depends on: its schemas, effect and rules, and no text for models. */
export function definitionDigest(one: Declared): string {
  const known = digests.get(one);
  if (known !== undefined) return known;
  const { name, input, format, output, callers, effect, approval, unknownFields, client } = one;
  const parts = [name, input, format, output, callers, effect, approval, unknownFields, client];
  const digest = hash("sha256", JSON.stringify(parts.map((part) => part ?? null)));
  digests.set(one, digest);
  return digest;
}

/** Throws `option_invalid` if the text is longer than a journal is given. */
export function declarationsText(declared: readonly Declared[]): string {
  const text = JSON.stringify(declared);
  if (text.length <= DECLARED_LENGTH) return text;
  throw new PortcullisError(
    "option_invalid",
    `submit({ owner }): the declarations of the tools have ${text.length} characters, at most ${DECLARED_LENGTH} are allowed. Name fewer with submit({ tools }).`,
  );
}

/** Throws `journal_invalid`: the text may come from elsewhere. */
export function readDeclarations(text: string): readonly Declared[] {
  try {
    if (text.length > DECLARED_LENGTH) throw new Error("they are too long");
    return ALL.parse(JSON.parse(text));
  } catch (cause) {
    throw invalid(cause);
  }
}

function invalid(cause: unknown): PortcullisError {
  return new PortcullisError(
    "journal_invalid",
    "The declarations of the owner's tools, which came with the execution, cannot be read.",
    { cause },
  );
}

/** How the calls of declared tools are made. */
export interface DeclaredHandlers {
  /** Beside the tool's own time, in milliseconds. */
  readonly moreMs: number;
  readonly call: (tool: Declared, ...call: Parameters<Exclude<Tool["handler"], "client">>) => Promise<unknown>;
  readonly needsApproval: (tool: Declared, input: unknown) => Promise<boolean>;
}

/** Tools whose handlers are elsewhere. Throws `journal_invalid` for what no owner declares. */
export function toolsOf(declared: readonly Declared[], handlers: DeclaredHandlers): readonly Tool[] {
  return declared.map((one) => {
    try {
      return toolOf(one, handlers);
    } catch (error) {
      throw errorAt(`Tool ${JSON.stringify(one.name.slice(0, 100))}`, invalid(error));
    }
  });
}

function toolOf(one: Declared, handlers: DeclaredHandlers): Tool {
  const { input, format, output, callers, approval, client, timeoutMs, ...others } = one;
  const options = {
    ...others,
    ...(output && { output: storedSchema(output) }),
    allowedCallers: callers,
    approval: approval === "by input" ? (read: unknown) => handlers.needsApproval(one, read) : approval,
    timeoutMs: Math.min(TIMEOUT_MS.max, timeoutMs + handlers.moreMs),
    handler: client
      ? ("client" as const)
      : (...call: Parameters<Exclude<Tool["handler"], "client">>) => handlers.call(one, ...call),
  };
  const { unknownFields, ...forText } = options;
  const tool = format
    ? defineTextTool({ ...forText, format })
    : defineTool({ ...options, unknownFields, input: storedSchema(input ?? {}) });
  return client ? tool : runsAt(OWNER, tool);
}
