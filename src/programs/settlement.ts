import type { FaultBody, GuestFrame } from "../../bridge/frames.ts";
import type { Overdraft } from "../gate/budget.ts";
import { plainDataFault } from "../gate/plain-data.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { Limits } from "./limits.ts";
import type { Ending, Fault } from "./outcome.ts";
import { faultAt, onlyMention, type SourceMap } from "./source-map.ts";

/** What is known when a program settles. */
export interface Circumstances {
  readonly limits: Limits;
  readonly map: SourceMap;
  readonly tools: ToolSet;
  /** The limit that was last in a call's way, if any was. */
  readonly overdraft: Overdraft | undefined;
  /** Names of the tools whose calls have no answer yet. */
  readonly left: readonly string[];
}

export interface Settlement {
  readonly ending: Ending;
  /** For the reader of the result, in sentences. */
  readonly notes: readonly string[];
}

/** What a guest's last frame means for the execution. */
export function settle(
  { ok, notes, body }: GuestFrame & { readonly kind: "settled" },
  circumstances: Circumstances,
): Settlement {
  if (!ok) {
    const fault = parseFault(body);
    return { notes, ending: fault ? endingOf(fault, circumstances) : broken("a fault that cannot be read") };
  }
  const value = body === undefined ? undefined : parseValue(body);
  if (value === NOT_JSON) return { notes, ending: broken("a value that is not plain JSON") };
  const { left, tools } = circumstances;
  const writing = left.filter((name) => (tools.get(name)?.effect ?? "read") !== "read");
  if (writing.length > 0) return { notes, ending: { type: "failed", fault: notAwaited(writing) } };
  return {
    notes: left.length === 0 ? notes : [...notes, endedWithProgram(left)],
    ending: { type: "completed", value, text: body },
  };
}

export const NOT_JSON = Symbol("not JSON");

/** A value from a guest, or NOT_JSON where the text is none, or none that should be handed on. */
export function parseValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return plainDataFault(value) === undefined ? value : NOT_JSON;
  } catch {
    return NOT_JSON;
  }
}

function endingOf(fault: FaultBody, { limits, map, overdraft }: Circumstances): Ending {
  if (fault.code === "budget_spent" && overdraft)
    return { type: "stopped", limit: overdraft.limit, allowed: overdraft.allowed, seen: overdraft.seen };
  if (fault.code === "value_too_large")
    return { type: "stopped", limit: "outputBytes", allowed: limits.outputBytes, seen: limits.frameBytes };
  const { line, column, ...words } = fault;
  const position =
    line === undefined || column === undefined
      ? onlyMention(map.source, words.tool ?? "")
      : map.toSource({ line, column });
  return { type: "failed", fault: faultAt(map.source, words, position) };
}

/** The program may have changed something, and nobody knows. */
function notAwaited(writing: readonly string[]): Fault {
  const one = writing.length === 1;
  return {
    name: "ProgramError",
    code: "calls_not_awaited",
    message: `The program ended while ${callsOf(writing)} ${one ? "was" : "were"} still open. ${one ? "It changes" : "They change"} something, and whether that was done is not known: await every call.`,
  };
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

/** A guest's account of a fault, as far as it has the right form. */
function parseFault(body: string | undefined): FaultBody | undefined {
  const value = body === undefined ? undefined : parseValue(body);
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
