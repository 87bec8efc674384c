import type { CallLine } from "../gate/session.ts";
import type { Execution } from "../programs/execute.ts";
import type { Limits } from "../programs/limits.ts";
import type { Logs } from "../programs/log-collector.ts";
import type { Ending } from "../programs/outcome.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { cleanText } from "./clean-text.ts";
import { hintFor } from "./hint.ts";
import { endingText } from "./sentences.ts";
import { type Stub, stubOf } from "./stub.ts";

/** How an execution ended. Exactly one, always. A value over `outputBytes` is a `Stub`. */
export type Outcome = { readonly type: "completed"; readonly value: unknown } | Exclude<Ending, { type: "completed" }>;

/** What the model gets, and all that it gets. */
export interface Output {
  /** The value as JSON, or why there is none; then what was printed. Safe to show on a terminal. */
  readonly text: string;
  readonly isError: boolean;
  /** What was left out, where something was. */
  readonly cut?: { readonly valueBytes?: number; readonly logLines?: number };
}

export interface Usage {
  readonly calls: number;
  /** UTF-8 bytes of JSON that tools returned. */
  readonly bytesIn: number;
  /** UTF-8 bytes of `output.text`. */
  readonly bytesOut: number;
  /** Time the program had the turn. */
  readonly runningMs: number;
  /** Time it waited for tools and timers. */
  readonly waitingMs: number;
  /** Most memory seen above what an idle guest takes; 0 where it cannot be watched. */
  readonly peakMemoryBytes: number;
  readonly turns: number;
  /** Engines that died under way. */
  readonly restarts: number;
}

export interface Report {
  /** Id under which the journal holds it. */
  readonly execution: string;
  readonly outcome: Outcome;
  readonly output: Output;
  readonly usage: Usage;
  readonly calls: readonly CallLine[];
  readonly logs: Logs;
  readonly notes: readonly string[];
}

const ADVICE = "The value is too large to be shown. Return less: select, aggregate or count in the program.";

/** Distils an execution to what goes back. */
export function reportOf(execution: Execution, limits: Limits, tools: ToolSet): Report {
  const { ending, logs, calls } = execution;
  const notes = execution.notes.map(cleanText);
  const value = ending.type === "completed" ? shownValue(ending.value, ending.text, limits.outputBytes) : undefined;
  const parts = [
    ending.type === "completed"
      ? (value?.text ?? "The program returned nothing.")
      : cleanText(endingText(ending, ending.type === "failed" ? hintFor(ending.fault, tools) : undefined)),
    ending.type === "completed" ? undefined : doneText(calls, tools),
    notes.length === 0 ? undefined : notes.map((note) => `Note: ${note}`).join("\n"),
    logs.text === "" ? undefined : `Printed:\n${cleanText(logs.text).trimEnd()}`,
  ];
  const text = parts.filter((part) => part !== undefined).join("\n\n");
  const cut = {
    ...(value?.cutBytes === undefined ? {} : { valueBytes: value.cutBytes }),
    ...(logs.dropped === 0 ? {} : { logLines: logs.dropped }),
  };
  return {
    execution: execution.execution,
    outcome: ending.type === "completed" ? { type: "completed", value: value?.value } : ending,
    output: { text, isError: ending.type !== "completed", ...(Object.keys(cut).length === 0 ? {} : { cut }) },
    usage: {
      calls: calls.length,
      bytesIn: execution.resultBytes,
      bytesOut: Buffer.byteLength(text),
      runningMs: execution.runningMs,
      waitingMs: Math.max(0, execution.wallMs - execution.runningMs),
      peakMemoryBytes: execution.peakMemoryBytes,
      turns: execution.turns,
      restarts: execution.restarts,
    },
    calls,
    logs,
    notes,
  };
}

interface ShownValue {
  readonly value: unknown;
  readonly text: string | undefined;
  /** Bytes of the whole value, where a stub stands for it. */
  readonly cutBytes?: number;
}

function shownValue(value: unknown, text: string | undefined, outputBytes: number): ShownValue {
  if (text === undefined) return { value, text };
  const bytes = Buffer.byteLength(text);
  if (bytes <= outputBytes) return { value, text: cleanText(text) };
  const stub: Stub = stubOf(value, bytes, outputBytes, ADVICE);
  return { value: stub, text: cleanText(JSON.stringify(stub)), cutBytes: bytes };
}

/** What a program that did not complete has changed already: whoever writes the next one must not do it twice. */
function doneText(calls: readonly CallLine[], tools: ToolSet): string | undefined {
  const counts = new Map<string, number>();
  for (const { tool, result } of calls) {
    const changed = tools.get(tool)?.effect !== "read" && !NOT_DONE.has(result);
    if (changed && tools.get(tool)) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  }
  if (counts.size === 0) return undefined;
  return `Already done before that, and not undone: ${[...counts].map(([tool, count]) => (count === 1 ? tool : `${tool} (${count} times)`)).join(", ")}.`;
}

/** Results of calls whose handlers never ran. */
const NOT_DONE = new Set(["tool_unknown", "caller_not_allowed", "budget_spent", "input_invalid", "approval_denied"]);
