import type { FaultBody, GuestFrame } from "../../bridge/frames.ts";
import type { Overdraft } from "../gate/budget.ts";
import { type CallLine, outcomeText } from "../gate/call-line.ts";
import { readPlainData } from "../values/plain-data.ts";
import { isVisible, type ToolSet } from "../tools/tool-set.ts";
import type { Limits } from "./limits.ts";
import type { Completed, Ending, Fault } from "./outcome.ts";
import { faultAt, onlyMention, type SourceMap } from "./source-map.ts";
import type { Lane } from "../values/slice-scheduler.ts";
import { readHead } from "../values/value-head.ts";

/** What is known when a program settles. */
export interface Circumstances {
  readonly limits: Limits;
  readonly map: SourceMap;
  readonly tools: ToolSet;
  /** Calls that the program made, those included that the gate was not asked for because it ended with them. */
  readonly calls: number;
  /** The limit that was last in a call's way, if any was. */
  readonly overdraft: Overdraft | undefined;
  /** Names of the tools whose calls have no answer yet. */
  readonly left: readonly string[];
  /** Calls that have ended. */
  readonly lines: readonly CallLine[];
  readonly lane: Lane;
}

export interface Settlement {
  readonly ending: Ending;
  /** For the reader of the result, in sentences. */
  readonly notes: readonly string[];
  /** What the guest says of the value. A program that has taken its guest over says in them what it likes. */
  readonly remarks: readonly string[];
}

/** What a guest's last frame means for the execution. */
export async function settle(
  { ok, notes: remarks, body }: GuestFrame & { readonly kind: "settled" },
  circumstances: Circumstances,
): Promise<Settlement> {
  if (!ok) {
    const fault = parseFault(body);
    return {
      notes: [],
      remarks,
      ending: fault ? endingOf(fault, circumstances) : broken("a fault that cannot be read"),
    };
  }
  const { left, limits, tools, lines, lane } = circumstances;
  const returned = body === undefined ? { value: undefined } : await readValue(body, limits.outputBytes, lane);
  if (!returned) return { notes: [], remarks, ending: broken("a value that is not plain JSON") };
  const writing = left.filter((name) => changes(tools, name));
  if (writing.length > 0) return { notes: [], remarks, ending: { type: "failed", fault: notAwaited(writing) } };
  return {
    notes: [
      ...notDone(
        lines.filter(({ tool, outcome, started }) => started && outcome.type !== "value" && changes(tools, tool)),
      ),
      ...(left.length === 0 ? [] : [endedWithProgram(left.map((name) => knownName(tools, name)))]),
    ],
    remarks,
    ending: { type: "completed", ...returned, text: body },
  };
}

/** A value that goes to the model whole is read whole. Of a larger one there will only be a stub. */
async function readValue(
  text: string,
  outputBytes: number,
  lane: Lane,
): Promise<Pick<Completed, "value" | "counts"> | undefined> {
  if (text.length > outputBytes || Buffer.byteLength(text) > outputBytes) return readHead(text, outputBytes, lane);
  const value = await lane.run(() => parseValue(text));
  return value === NOT_JSON ? undefined : { value };
}

export const NOT_JSON = Symbol("not JSON");

/** A value from a guest, or NOT_JSON where the text is none, or none that should be handed on. */
export function parseValue(text: string): unknown {
  const read = readPlainData(text);
  return read.ok ? read.value : NOT_JSON;
}

function endingOf(fault: FaultBody, { limits, map, calls, overdraft }: Circumstances): Ending {
  const overBudget = fault.code === "budget_spent" || fault.code === "result_over_budget";
  if (overBudget && overdraft)
    return { type: "stopped", limit: overdraft.limit, allowed: overdraft.allowed, seen: overdraft.seen };
  if (fault.code === "budget_spent" && calls > limits.calls)
    return { type: "stopped", limit: "calls", allowed: limits.calls, seen: calls };
  if (fault.code === "value_too_large")
    return { type: "stopped", limit: "outputBytes", allowed: limits.outputBytes, seen: limits.frameBytes };
  if (OUT_OF_MEMORY.test(`${fault.name}: ${fault.message}`))
    return { type: "stopped", limit: "memoryBytes", allowed: limits.memoryBytes, seen: limits.memoryBytes };
  const { line, column, ...words } = fault;
  const position =
    line === undefined || column === undefined ? onlyMention(map.source, words.tool) : map.toSource({ line, column });
  return { type: "failed", fault: faultAt(map.source, words, position) };
}

/** Whether a call of this name would have changed something. Of what a program may not call it learns nothing by this either. */
function changes(tools: ToolSet, name: string): boolean {
  const tool = tools.get(name);
  return tool !== undefined && isVisible(tool, ["programmatic"]) && tool.effect !== "read";
}

/** The name of a tool that programs may call. Any other is the program's own text, which has no place in a sentence of ours. */
function knownName(tools: ToolSet, name: string): string {
  const tool = tools.get(name);
  return tool && isVisible(tool, ["programmatic"]) ? name : "an unknown tool";
}

/** What V8 throws where it has no memory for an array buffer, and Python where it has none for anything, instead of ending the engine. */
const OUT_OF_MEMORY =
  /^RangeError: Array buffer allocation failed$|^MemoryError: There is not enough memory for this\.$/;

/** The program may have changed something, and neither it nor the host knows. */
function notAwaited(writing: readonly string[]): Fault {
  const one = writing.length === 1;
  return {
    name: "ProgramError",
    code: "calls_not_awaited",
    message: `The program ended while ${callsOf(writing)} ${one ? "was" : "were"} still open. ${one ? "It changes" : "They change"} something, and whether that was done is not known: await every call.`,
  };
}

/** Kinds of failed calls that are told. */
const FAILURES_TOLD = 5;

/**
 * Whether a program that completed has caught the failure of a call, or never awaited that, it alone knows: what may
 * have changed something and failed is told in both cases.
 */
function notDone(failed: readonly CallLine[]): string[] {
  const counts = new Map<string, number>();
  for (const { tool, outcome } of failed) {
    const kind = `${tool} (${outcomeText(outcome)})`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const told = [...counts].slice(0, FAILURES_TOLD);
  const notes = told.map(
    ([kind, count]) =>
      `${count === 1 ? "A call" : `${count} calls`} of ${kind} failed, and the program completed all the same: it did not await ${count === 1 ? "that" : "them"}, or caught the error.`,
  );
  return counts.size > told.length ? [...notes, `So did calls of ${counts.size - told.length} other kinds.`] : notes;
}

function endedWithProgram(left: readonly string[]): string {
  return `${callsOf(left)} ${left.length === 1 ? "was" : "were"} not awaited and ended with the program.`;
}

/** `2 calls of crm.find, crm.list`. */
function callsOf(names: readonly string[]): string {
  const different = [...new Set(names)];
  const shown = different.length <= 3 ? different.join(", ") : `${different.slice(0, 3).join(", ")} and others`;
  return `${names.length} ${names.length === 1 ? "call" : "calls"} of ${shown}`;
}

function broken(what: string): Ending {
  return { type: "crashed", code: "bridge_broken", detail: `The guest settled with ${what}.` };
}

/** No guest's account of a fault is longer: its texts together have fewer than 10,000 characters, of which none takes more than six in JSON. */
const FAULT_LENGTH = 64 * 1024;

/** A guest's account of a fault, as far as it has the right form. */
function parseFault(body = ""): FaultBody | undefined {
  if (body.length > FAULT_LENGTH) return undefined;
  const value = parseValue(body);
  if (typeof value !== "object" || value === null) return undefined;
  const { name, message, code, tool, line, column } = value as Record<string, unknown>;
  if (!isText(name, 128) || !isText(message, 8192)) return undefined;
  return {
    name,
    message,
    ...(isText(code, 64) ? { code } : {}),
    ...(isText(tool, 256) ? { tool } : {}),
    ...(isCount(line) && isCount(column) ? { line, column } : {}),
  };
}

function isText(value: unknown, length: number): value is string {
  return typeof value === "string" && value.length <= length;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
