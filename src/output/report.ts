import type { FailureCode } from "../gate/answer.ts";
import type { CallLine } from "../gate/call-line.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Execution } from "../programs/execute.ts";
import type { NotEvictedCause } from "../programs/guest-supervisor.ts";
import type { ConnectionTotals } from "../programs/execution-state.ts";
import type { Limits } from "../programs/limits.ts";
import type { Logs } from "../programs/log-collector.ts";
import type { KeptValue } from "../programs/keep-value.ts";
import type { Completed, Outcome } from "../programs/outcome.ts";
import { LOAD_ARTIFACT, SAVE_ARTIFACT } from "../tools/tool-name.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { cutMiddle } from "../values/cut-middle.ts";
import { keptText, type ReportArtifact, reportArtifacts } from "./artifacts.ts";
import { cleanText } from "./clean-text.ts";
import { INSET, insetLines, insetText } from "./foreign-text.ts";
import { hintFor } from "./hint.ts";
import { endingText } from "./sentences.ts";
import { type Stub, stubOf } from "./stub.ts";

/** All that the model gets of an execution. */
export interface Output {
  /**
   * The value as JSON, or the name and message of a fault; then the runtime's notes; then what the program printed. After
   * the first line, every line that does not begin with two spaces is the runtime's own. Safe to show on a terminal.
   */
  readonly text: string;
  readonly isError: boolean;
  /** What was left out; absent if nothing was. */
  readonly cut?: { readonly valueBytes?: number; readonly logLines?: number };
  /** Characters that the runtime's `redact` has taken out; absent if none. */
  readonly redacted?: number;
}

export interface Usage {
  readonly calls: number;
  /** UTF-8 bytes of JSON that tools returned. */
  readonly bytesIn: number;
  /** UTF-8 bytes of JSON that the program was handed: results, and values that it has loaded. */
  readonly bytesSeen: number;
  /** UTF-8 bytes of `output.text`. */
  readonly bytesOut: number;
  /** Time waiting for an engine or a container, including the wait for a replacement. */
  readonly queuedMs: number;
  /** Time the program ran, without waiting for a core where the system reports that. */
  readonly runningMs: number;
  /** Time the program waited for tools and timers, without `approvalMs`. */
  readonly waitingMs: number;
  /** Time the program waited for nothing but approvals. It spends no limit. */
  readonly approvalMs: number;
  /** Peak memory above that of an idle guest; 0 where it cannot be measured. */
  readonly peakMemoryBytes: number;
  readonly turns: number;
  /** How often the engine died and was replaced. */
  readonly restarts: number;
  /** How often the program gave its engine or container up while it waited, because another program needed it, or memory was short. */
  readonly evictions: number;
  /**
   * Why the program kept its engine or container while it waited: what it had used that a replay cannot reproduce, much of
   * its `memory`, or that its `replay` would take too long. Absent if it could give it up.
   */
  readonly notEvicted?: NotEvictedCause;
  /** Connections through the sandbox's egress: their number, refused ones included, and their bytes. */
  readonly connections: ConnectionTotals;
}

/** `Value` is the type of what the schema `result` gives out. */
export interface Report<Value = unknown> {
  /** Id in the journal. A program that was refused before it started is not journalled. */
  readonly execution: ExecutionId;
  readonly outcome: Outcome;
  /** The whole value, as the schema `result` gives it out. Missing without one, and where the program did not complete. */
  readonly value?: Value;
  readonly output: Output;
  readonly usage: Usage;
  readonly calls: readonly CallLine[];
  readonly logs: Logs;
  /** Values that are kept under names; those of the whole conversation for a program of one. */
  readonly artifacts: readonly ReportArtifact[];
  /** The runtime's notes on the value and the calls. */
  readonly notes: readonly string[];
  /** What the guest changed to make the value JSON, in its own words. Untrusted: may be any text. */
  readonly remarks: readonly string[];
}

/** Maximum bytes of the text about an ending. A program may throw an error with a long message. */
const ENDING_BYTES = 8 * 1024;

const ADVICE = "The value is too large to be shown. Return less: select, aggregate or count in the program.";

/** What to do about a value that is too large. */
function adviceOf(kept: KeptValue | undefined): string {
  if (!kept) return ADVICE;
  if (!kept.isShared) return `${ADVICE} All of it is kept for the host as ${kept.name}; no later program can load it.`;
  return `The value is too large to be shown, and is kept: read it in a later program by await load("${kept.name}"), and return less.`;
}

/** Reduces an execution to its report. */
export function reportOf<Value = unknown>(execution: Execution, limits: Limits, tools: ToolSet): Report<Value> {
  const { ending, logs, calls } = execution;
  const notes = execution.notes.map(cleanText);
  const remarks = execution.remarks.map(cleanText);
  const value = ending.type === "completed" ? shownValue(ending, limits.outputBytes, execution.kept?.value) : undefined;
  const printed = printedText(logs, limits);
  const parts =
    ending.type === "completed"
      ? [value?.text ?? "The program returned nothing."]
      : [
          cutMiddle(
            cleanText(
              endingText(
                ending,
                ending.type === "failed" ? hintFor(ending.fault, tools) : undefined,
                execution.turns > 0,
              ),
            ),
            ENDING_BYTES,
            INSET,
          ),
          ...effectsText(calls, tools),
        ];
  if (notes.length > 0) parts.push(notes.map((note) => `Note: ${insetLines(note)}`).join("\n"));
  if (remarks.length > 0) parts.push(`Remarks from the sandbox:\n${remarks.map(insetText).join("\n")}`);
  const keptHere = keptText(execution.kept);
  if (keptHere !== "") parts.push(keptHere);
  if (printed !== INSET) parts.push(`Printed:\n${printed}`);
  const text = parts.join("\n\n");
  const cut = {
    ...(value?.cutBytes === undefined ? {} : { valueBytes: value.cutBytes }),
    ...(logs.dropped === 0 ? {} : { logLines: logs.dropped }),
  };
  return {
    execution: execution.execution,
    outcome: ending.type === "completed" ? { type: "completed", value: value?.value } : ending,
    ...(ending.type === "completed" && ending.checked ? { value: ending.checked.value as Value } : {}),
    output: {
      text,
      isError: ending.type !== "completed",
      ...(Object.keys(cut).length === 0 ? {} : { cut }),
      ...(execution.redacted ? { redacted: execution.redacted } : {}),
    },
    usage: {
      calls: calls.length,
      bytesIn: execution.resultBytes - keptBytes(calls),
      bytesSeen: execution.seenBytes,
      bytesOut: Buffer.byteLength(text),
      queuedMs: execution.queuedMs,
      runningMs: execution.runningMs,
      waitingMs: Math.max(0, execution.wallMs - execution.runningMs),
      approvalMs: execution.approvalMs,
      peakMemoryBytes: execution.peakMemoryBytes,
      turns: execution.turns,
      restarts: execution.restarts,
      evictions: execution.evictions,
      ...(execution.notEvicted === undefined ? {} : { notEvicted: execution.notEvicted }),
      connections: execution.connections,
    },
    calls,
    logs,
    artifacts: reportArtifacts(execution.kept?.place.space),
    notes,
    remarks,
  };
}

/**
 * Printed text, indented. What the sandbox kept is shown whole; it is cut only where its characters take more bytes when
 * they are written out. That cut may be over the line that gives the number of omitted lines, so it gives it too.
 */
function printedText({ text, bytes, lines, dropped }: Logs, { logBytes }: Limits): string {
  const shownLines = lines - dropped + 2;
  const allowedBytes = Math.max(logBytes * 2, bytes) + INSET.length * shownLines;
  const besides = dropped === 0 ? "" : ` and ${dropped} ${dropped === 1 ? "line" : "lines"}`;
  return cutMiddle(insetText(text.trimEnd()), allowedBytes, INSET, besides);
}

interface ShownValue {
  readonly value: unknown;
  readonly text: string | undefined;
  /** Bytes of the whole value, where a stub stands for it. */
  readonly cutBytes?: number;
}

function shownValue({ value, counts, text }: Completed, outputBytes: number, kept: KeptValue | undefined): ShownValue {
  if (text === undefined) return { value, text };
  const bytes = Buffer.byteLength(text);
  const shown = bytes <= outputBytes ? cleanText(text) : undefined;
  if (shown !== undefined && Buffer.byteLength(shown) <= outputBytes) return { value, text: shown };
  const stub: Stub = stubOf({ value, bytes, counts: counts ?? new Map() }, outputBytes, adviceOf(kept), kept?.name);
  return { value: stub, text: cleanText(JSON.stringify(stub)), cutBytes: bytes };
}

/** Bytes of what a program has read that it or another one had kept: no tool returned them. */
function keptBytes(calls: readonly CallLine[]): number {
  const own = calls.filter(({ tool, callId }) => KEEPING.has(tool) && !callId.includes("/"));
  return own.reduce((sum, { bytes }) => sum + bytes, 0);
}

const KEEPING: ReadonlySet<string> = new Set([SAVE_ARTIFACT, LOAD_ARTIFACT]);

/** Failures of calls whose handler returned, and whose result was rejected. */
const RESULT_REJECTED: ReadonlySet<FailureCode> = new Set(["output_invalid", "result_too_large", "result_over_budget"]);

/** Whether a call's handler returned, even if its result was rejected. */
function returned({ outcome }: CallLine): boolean {
  return outcome.type === "value" || (outcome.type === "failed" && RESULT_REJECTED.has(outcome.code));
}

/** Calls with effects of a program that did not complete: the next program must not repeat them. */
function effectsText(calls: readonly CallLine[], tools: ToolSet): string[] {
  // Calls that a nested agent made are listed as the call of that agent.
  const changing = calls.filter(
    ({ tool, started, effect }) => started && (effect ?? tools.get(tool)?.effect ?? "read") !== "read",
  );
  const done = listOf(changing.filter(returned));
  const unsure = listOf(changing.filter((line) => !returned(line)));
  return [
    ...(done === "" ? [] : [`Already done, and not undone: ${done}.`]),
    ...(unsure === "" ? [] : [`Started, and may have taken effect: ${unsure}.`]),
  ];
}

/** `bank.pay (2 times), crm.note`. */
function listOf(calls: readonly CallLine[]): string {
  const counts = new Map<string, number>();
  for (const { tool } of calls) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  return [...counts].map(([tool, count]) => (count === 1 ? tool : `${tool} (${count} times)`)).join(", ");
}
