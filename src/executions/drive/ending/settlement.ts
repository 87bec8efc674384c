import type { FaultBody, GuestFrame } from "../../../../bridge/frames.ts";
import type { Overdraft } from "../../../gate/admit/budget.ts";
import { outcomeText } from "../../../gate/answer.ts";
import type { CallLine } from "../../../gate/call-line.ts";
import { checkResult, type ResultSchema } from "./result-schema.ts";
import { countText, type Lane, readPlainData, readUpTo } from "../../../base/index.ts";
import { isOfFunction, SAVE_ARTIFACT } from "../../../tools/tool-name.ts";
import { isVisible, type ToolSet } from "../../../tools/tool-set.ts";
import type { Limits } from "../../limits.ts";
import type { DriveResult } from "../../execution.ts";
import type { Ending, Fault } from "../../outcome.ts";
import { placeOfFault } from "./fault-place.ts";
import { faultAt, type SourceMap } from "../../guest/source-map.ts";

export interface Circumstances {
  readonly limits: Limits;
  readonly map: SourceMap;
  readonly tools: ToolSet;
  /** Number of calls the program made, including calls of its last turn, which never reach the gate. */
  readonly calls: number;
  readonly overdraft: Overdraft | undefined;
  readonly openCalls: readonly CallAtEnd[];
  readonly lines: readonly CallLine[];
  /** Inputs of calls that may have taken effect and gave no value, by their ids, as far as they are known. */
  readonly inputs: ReadonlyMap<string, string>;
  readonly lane: Lane;
  readonly result?: ResultSchema | undefined;
}

export type CallAtEnd = Pick<CallLine, "tool" | "effect">;

export async function settle(
  { ok, notes: remarks, body }: GuestFrame & { readonly kind: "settled" },
  circumstances: Circumstances,
): Promise<Pick<DriveResult, "ending" | "notes" | "remarks">> {
  const unsure = circumstances.lines.filter(
    (line) => line.started && line.outcome.type !== "value" && changes(circumstances.tools, line),
  );
  if (!ok) {
    const fault = parseFault(body);
    return {
      notes: [...Map.groupBy(unsure, ({ tool }) => tool)].flatMap(([tool, calls]) => {
        const inputs = inputsText(calls, circumstances);
        return inputs === "" ? [] : [`${tool} may have taken effect.${inputs}`];
      }),
      remarks,
      ending: fault ? endingOf(fault, circumstances) : broken("a fault that cannot be read"),
    };
  }
  const { openCalls, limits, tools, lines, lane, result } = circumstances;
  const returned = body === undefined ? { value: undefined } : await readUpTo(body, limits.outputBytes, lane);
  if (!returned) return { notes: [], remarks, ending: broken("a value that is not plain JSON") };
  const writing = openCalls.filter((call) => changes(tools, call));
  if (writing.length > 0) return { notes: [], remarks, ending: { type: "failed", fault: notAwaited(writing) } };
  const checked = result && (await checkResult(body, result, limits.inputBytes, lane));
  return {
    notes: [
      ...notDone(unsure, circumstances),
      ...partsLeftOut(tools, lines),
      ...(openCalls.length === 0
        ? []
        : [endedWithProgram(openCalls.map(({ tool }) => (isKnown(tools, tool) ? tool : "an unknown tool")))]),
    ],
    remarks,
    ending:
      checked?.ok === false
        ? { type: "failed", fault: checked.fault }
        : { type: "completed", ...returned, text: body, checked },
  };
}

function endingOf(fault: FaultBody, { limits, map, tools, calls, overdraft }: Circumstances): Ending {
  const overBudget = fault.code === "budget_spent" || fault.code === "result_over_budget";
  if (overBudget && overdraft)
    return { type: "stopped", limit: overdraft.limit, allowed: overdraft.allowed, seen: overdraft.seen };
  if (fault.code === "budget_spent" && calls > limits.calls)
    return { type: "stopped", limit: "calls", allowed: limits.calls, seen: calls };
  if (fault.code === "value_too_large")
    return { type: "stopped", limit: "frameBytes", allowed: limits.frameBytes, seen: limits.frameBytes };
  if (OUT_OF_MEMORY.test(`${fault.name}: ${fault.message}`))
    return { type: "stopped", limit: "memoryBytes", allowed: limits.memoryBytes, seen: limits.memoryBytes };
  const { line: _line, column: _column, unawaited, ...words } = fault;
  const extras = unawaited !== undefined && isKnown(tools, unawaited) ? { unawaited } : {};
  return { type: "failed", fault: faultAt(map.source, { ...words, ...extras }, placeOfFault(map, fault)) };
}

/** Whether a call may have had an effect. False for tools hidden from programs, so that notes do not reveal them. */
function changes(tools: ToolSet, { tool: name, effect }: Pick<CallLine, "tool" | "effect">): boolean {
  if (name === SAVE_ARTIFACT) return true;
  const tool = tools.get(name);
  return tool !== undefined && isVisible(tool, ["programmatic"]) && (effect ?? tool.effect) !== "read";
}

/** Whether this is a tool that programs may call. Any other name is text chosen by the program and is not quoted. */
function isKnown(tools: ToolSet, name: string): boolean {
  if (isOfFunction(name)) return true;
  const tool = tools.get(name);
  return tool !== undefined && isVisible(tool, ["programmatic"]);
}

/** Allocation failures that do not end the engine: of an array buffer in V8, of anything in Python. */
const OUT_OF_MEMORY =
  /^RangeError: Array buffer allocation failed$|^MemoryError: There is not enough memory for this\.$/;

/** The fault for open calls that change something: the program did not learn whether they did. The report tells which had begun. */
function notAwaited(writing: readonly CallAtEnd[]): Fault {
  return {
    name: "ProgramError",
    code: "calls_not_awaited",
    message: `The program ended while ${callsOf(writing.map(({ tool }) => tool))} ${were(writing)} still open, and did not learn what came of that: await every call.`,
  };
}

function were(calls: readonly unknown[]): string {
  return calls.length === 1 ? "was" : "were";
}

const KINDS_SHOWN = 5;

function notesOf<Of>(
  counts: ReadonlyMap<string, Of>,
  note: (kind: string, count: Of) => string,
  noteOthers: (others: number) => string,
): string[] {
  const notes = [...counts].slice(0, KINDS_SHOWN).map(([kind, count]) => note(kind, count));
  return counts.size > KINDS_SHOWN ? [...notes, noteOthers(counts.size - KINDS_SHOWN)] : notes;
}

/**
 * Notes on failed calls with effects in a program that completed. The host cannot tell whether the program caught the
 * error or did not await the call, so these calls are listed in both cases.
 */
function notDone(failed: readonly CallLine[], { inputs }: Pick<Circumstances, "inputs">): string[] {
  const kinds = Map.groupBy(failed, ({ tool, outcome }) => `${tool} (${outcomeText(outcome)})`);
  return notesOf(
    kinds,
    (kind, calls) =>
      `${countText(calls.length, "call")} of ${kind} failed and may have taken effect: find out before you make such a call again.${inputsText(calls, { inputs })} The program completed, because it did not await it, or caught its error.`,
    (others) => `Calls of ${others} other kinds failed too.`,
  );
}

/** Which of the calls of a program these were, by their inputs; empty if none is known. */
function inputsText(calls: readonly CallLine[], { inputs }: Pick<Circumstances, "inputs">): string {
  const texts = calls.flatMap(({ callId }) => inputs.get(callId) ?? []).slice(0, KINDS_SHOWN);
  const more = calls.length - texts.length;
  if (texts.length === 0) return "";
  return ` ${calls.length === 1 ? "Its input" : "Inputs"}: ${texts.join(", ")}${more === 0 ? "" : `, and ${more} more`}.`;
}

/** Notes on images, files and links of results, which the model gets if it calls the tool itself. */
function partsLeftOut(tools: ToolSet, lines: readonly CallLine[]): string[] {
  const counts = new Map<string, number>();
  // An agent's own calls are not the program's: they have ids with a slash.
  for (const { tool, callId, partsLeftOut: count = 0 } of lines)
    if (count > 0 && !callId.includes("/")) counts.set(tool, (counts.get(tool) ?? 0) + count);
  return notesOf(
    counts,
    (tool, count) =>
      `Results of ${tool} had ${count} ${count === 1 ? "image, file or link" : "images, files or links"} that a program does not get: ${tools.get(tool)?.allowedCallers.includes("direct") ? `a direct call of ${tool} shows them` : `only direct calls do, and ${tool} is for programs`}.`,
    (others) => `Results of ${others} other tools had such parts too.`,
  );
}

function endedWithProgram(names: readonly string[]): string {
  return `${callsOf(names)} ${were(names)} not awaited and ended with the program.`;
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

/** Maximum length of a fault's JSON: an honest guest's texts have fewer than 10,000 characters together, each at most six in JSON. */
const FAULT_LENGTH = 64 * 1024;

/** Parses a fault sent by a guest. Optional fields of the wrong type are dropped; undefined if name or message is invalid. */
function parseFault(body = ""): FaultBody | undefined {
  if (body.length > FAULT_LENGTH) return undefined;
  const read = readPlainData(body);
  if (!read.ok || typeof read.value !== "object" || read.value === null) return undefined;
  const { name, message, code, tool, unawaited, line, column } = read.value as Record<string, unknown>;
  if (!isText(name, 128) || !isText(message, 8192)) return undefined;
  return {
    name,
    message,
    code: isText(code, 64) ? code : undefined,
    tool: isText(tool, 256) ? tool : undefined,
    unawaited: isText(unawaited, 256) ? unawaited : undefined,
    ...(isCount(line) && isCount(column) && { line, column }),
  };
}

function isText(value: unknown, length: number): value is string {
  return typeof value === "string" && value.length <= length;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
