import { partsBytes } from "../../tools/content.ts";
import { effectOfCall } from "../../tools/effect.ts";
import type { Caller, Effect, Tool } from "../../tools/tool.ts";
import { SAVE_ARTIFACT } from "../../tools/tool-name.ts";
import { isVisible, type ToolSet } from "../../tools/tool-set.ts";
import { measure, memoryOf, type Share } from "../../base/index.ts";
import { canonicalDigest } from "../run/canonical-json.ts";
import type { Answer, Failure, Refusal, Value } from "../answer.ts";
import { Budget, type GateLimits, type Overdraft } from "./budget.ts";
import type { AnswerExtras, CallIdentity, CallRequest, Handling, OpenCall } from "../open-call.ts";
import { parsedBytes, type ReadInput, readInput, type ShownInput } from "./read-input.ts";
import type { SessionArtifacts } from "../artifacts/session-artifacts.ts";
import * as sentences from "../sentences.ts";
import type { ParentCall } from "../work-scope.ts";

export interface AdmissionParts {
  readonly tools: ToolSet;
  /** The session's own tools, which are not in the set: the search, and the tools that keep values. */
  readonly own: ReadonlyMap<string, Tool>;
  readonly kept: SessionArtifacts | undefined;
  readonly callers: readonly Caller[];
  readonly visibleTo: readonly Caller[];
  readonly isHosts?: boolean;
  readonly limits: GateLimits;
  readonly above?: ParentCall | undefined;
  readonly maxTokens?: number;
  readonly share: Share;
}

/** Unknown names for which similar ones are looked for: a model may send a thousand at once. */
const MOST_HINTS = 10;

/** An input that was read, a refusal, or undefined if the call has ended. */
export type InputReading = { readonly ok: true; readonly value: unknown } | Refusal | undefined;

/** Which calls a session takes: by tool, by caller, by budget and memory, and by input. */
export class Admission {
  readonly budget: Budget;
  readonly #parts: AdmissionParts;
  #overdraft: Overdraft | undefined;
  #hints = MOST_HINTS;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
    this.budget = new Budget(parts.limits, parts.above?.session.budget, parts.maxTokens);
  }

  get overdraft(): Overdraft | undefined {
    return this.#overdraft;
  }

  /** Counts a call that has arrived. Returns its tool, or the refusal if this caller may not call it. */
  toolOf({ tool: name, caller }: CallIdentity): Tool | Refusal {
    const { tools, own, callers, visibleTo, isHosts } = this.#parts;
    this.budget.arrive();
    const tool = own.get(name) ?? tools.get(name);
    const isCaller = callers.includes(caller);
    if (!tool || !isCaller || !(isHosts || isVisible(tool, visibleTo)))
      return sentences.toolUnknown(name, isCaller && this.#hints-- > 0 ? tools.nearestName(name, caller) : undefined);
    return tool.allowedCallers.includes(caller) ? tool : sentences.callerNotAllowed(name, tool);
  }

  /** Counts work that is not a call of a tool. Returns the refusal if the limit of calls is exceeded. */
  countCall(name: string): Refusal | undefined {
    this.budget.arrive();
    const overdraft = this.budget.overCalls();
    return overdraft && this.#overdrawn(name, overdraft);
  }

  /** The refusal of one more stream of a tool. It would wait for the ends of the others, which its program may read only with it. */
  overStreams({ name, concurrency }: Tool, open: ReadonlySet<OpenCall>): Refusal | undefined {
    const { streams: allowed = Infinity } = this.#parts.limits;
    if (open.size >= allowed) return this.#overdrawn(name, { limit: "streams", allowed, seen: allowed + 1 });
    const ofTool = [...open].filter(({ tool }) => tool.name === name);
    return ofTool.length >= concurrency ? sentences.streamsAtOnce(name, concurrency) : undefined;
  }

  /** Reserves the text of an input, of so many bytes of UTF-8. Returns the refusal if it exceeds the budget. */
  takeInput({ tool, inputText }: CallRequest, bytes: number): Refusal | undefined {
    const limit = tool === SAVE_ARTIFACT ? "artifactBytes" : "inputBytes";
    const overdraft = this.budget.takeInput(bytes, memoryOf(inputText, bytes), limit);
    return overdraft && this.#overdrawn(tool, overdraft);
  }

  /**
   * Reserves memory for a call's input and reads it, in the session's share of the host's thread. Undefined if the call
   * ends first. Returns a promise only if it must wait, because it runs for every call.
   */
  readInput(call: OpenCall): InputReading | Promise<InputReading> {
    const { kept } = this.#parts;
    if (kept && call.tool.name === SAVE_ARTIFACT) return kept.readSave(call).then((read) => this.#admitted(call, read));
    const reading = this.#parts.share.lane.run(() => this.#read(call));
    return reading instanceof Promise
      ? reading.then((read) => this.#admitted(call, read))
      : this.#admitted(call, reading);
  }

  /**
   * Digest of a call's input in canonical form, by which calls are compared. Undefined for an input that is refused once it
   * is read, and if the call ends first.
   */
  async canonicalInput({ inputText, inputBytes, tool }: OpenCall): Promise<string | Refusal | undefined> {
    const { share, limits } = this.#parts;
    const measured = await share.lane.run(() => measure(inputText));
    if (measured.values > limits.inputValues) return undefined;
    const bytes = parsedBytes(memoryOf(inputText, inputBytes), measured);
    const overdraft = share.hold(bytes);
    if (overdraft) return this.#overdrawn(tool.name, overdraft);
    try {
      return await share.lane.work(canonicalDigest(inputText, measured));
    } finally {
      share.giveBack(bytes);
    }
  }

  /** Keeps what the schema has made of a call's input until the call ends. Returns the refusal if there is no room for it. */
  show(call: OpenCall, shown: ShownInput, isTold?: boolean): Refusal | undefined {
    const { converted } = shown;
    const bytes = converted === undefined ? 0 : memoryOf(converted);
    const overdraft = this.#parts.share.hold(bytes);
    if (overdraft) return this.#overdrawn(call.tool.name, overdraft);
    call.held.shown = bytes;
    call.show(shown, isTold);
    return undefined;
  }

  giveBackInput({ held }: OpenCall): void {
    this.#parts.share.giveBack(held.input);
    held.input = 0;
  }

  end(call: OpenCall): void {
    this.giveBackInput(call);
    this.#parts.share.giveBack(call.held.shown);
    call.held.shown = 0;
  }

  /**
   * What a call would change, for an owner that orders its calls before it makes them. A `write` if the effect depends
   * on the input, and the input cannot be read or has no room. An unknown tool changes nothing.
   */
  async effectOf({ tool: name, inputText }: Pick<CallRequest, "tool" | "inputText">): Promise<Effect> {
    const { tools, limits, share } = this.#parts;
    const tool = tools.get(name);
    if (!tool?.effectOf) return tool?.effect ?? "read";
    if (Buffer.byteLength(inputText) > limits.inputBytes) return "write";
    let held = 0;
    try {
      const read = await share.lane.run(() =>
        readInput(tool, inputText, limits.inputValues, (bytes) => {
          const overdraft = share.hold(bytes);
          if (!overdraft) held = bytes;
          return overdraft;
        }),
      );
      return read.ok === true ? effectOfCall(tool, read.value).effect : "write";
    } finally {
      share.giveBack(held);
    }
  }

  /** Reserves the text of a result, and what stands beside it. Returns the failure if it exceeds the budget. */
  takeResult({ tool, handling }: OpenCall, { text, bytes, parts = [] }: Value): Failure | undefined {
    const extraBytes = partsBytes(parts);
    const heldBytes = memoryOf(text, bytes) + extraBytes + heldBeside(handling.extras);
    const overdraft = this.budget.takeResult(bytes + extraBytes, heldBytes) ?? this.#parts.share.hold(heldBytes);
    if (!overdraft) return undefined;
    handling.extras = {};
    this.#overdraft = overdraft;
    return sentences.resultOverBudget(tool.name, overdraft);
  }

  /** Counts a message that takes the place of a result. Returns another failure if what the handler gave with it exceeds a limit. */
  takeFailure(answer: Failure | Refusal, handling?: Handling): Failure | undefined {
    const heldBytes = heldOfFailure(answer) + heldBeside(handling?.extras);
    const { budget } = this;
    const { share } = this.#parts;
    const overdraft = answer.value === undefined ? undefined : (budget.overFailure(heldBytes) ?? share.hold(heldBytes));
    if (overdraft) {
      this.#overdraft = overdraft;
      if (handling) handling.extras = {};
      const refused = sentences.resultOverBudget(answer.tool, overdraft);
      this.takeFailure(refused);
      return refused;
    }
    if (answer.value === undefined) share.count(heldBytes);
    budget.takeFailure(heldBytes);
    return undefined;
  }

  /** Keeps the limit that a call exceeded, for the execution's ending. */
  noteOverdraft(overdraft: Overdraft | undefined): void {
    this.#overdraft = overdraft ?? this.#overdraft;
  }

  #overdrawn(tool: string, overdraft: Overdraft): Refusal {
    this.#overdraft = overdraft;
    return sentences.budgetSpent(tool, overdraft);
  }

  #admitted(call: OpenCall, read: ReadInput | undefined): InputReading {
    if (!read || call.isOver) return undefined;
    if (read.ok === "no_room") return this.#overdrawn(call.tool.name, read.overdraft);
    const reason = read.ok ? this.#parts.kept?.faultOf(call.tool.name, read.value) : read.reason;
    if (reason !== undefined || !read.ok) return sentences.inputInvalid(call, call.tool, reason ?? "");
    return (call.shown ? undefined : this.show(call, { converted: read.converted })) ?? read;
  }

  #read(call: OpenCall): ReadInput | Promise<ReadInput> | undefined {
    if (call.isOver) return undefined;
    // Who has read it before has its value no longer, or has changed it.
    this.giveBackInput(call);
    const { inputText, inputBytes, tool } = call;
    const takeRoom = (bytes: number) => {
      const overdraft = this.#parts.share.hold(bytes);
      if (!overdraft) call.held.input = bytes;
      return overdraft;
    };
    const textBytes = memoryOf(inputText, inputBytes);
    return readInput(tool, inputText, this.#parts.limits.inputValues, takeRoom, textBytes, call.shown);
  }
}

const DIGEST_BYTES = 64;

/** The memory of what people are told beside a result, by its text in the journal and its value in the report. */
function heldBeside({ display, named = [] }: AnswerExtras = {}): number {
  return (display === undefined ? 0 : 2 * memoryOf(display)) + DIGEST_BYTES * named.length;
}

/** The memory of a failure: its message, and what the handler gave with it. */
export function heldOfFailure(answer: Answer): number {
  if (answer.ok) return 0;
  const { message, value = "", parts = [] } = answer;
  return memoryOf(message) + memoryOf(value) + partsBytes(parts);
}
