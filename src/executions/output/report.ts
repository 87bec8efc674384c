import type { FailureCode } from "../../gate/answer.ts";
import type { CallLine } from "../../gate/call-line.ts";
import {
  cleanText,
  count,
  countText,
  cutMiddle,
  type ExecutionId,
  INSET,
  insetLines,
  insetText,
  pick,
  type SchemaType,
  sumOf,
} from "../../base/index.ts";
import type { Execution } from "../execution.ts";
import type { Limits } from "../limits.ts";
import type { KeptValue } from "../drive/ending/keep-value.ts";
import type { CompletedOutcome, Logs, Outcome } from "../outcome.ts";
import { LOAD_ARTIFACT, SAVE_ARTIFACT, SEARCH_TOOLS } from "../../tools/tool-name.ts";
import type { Tool } from "../../tools/tool.ts";
import type { ToolSet } from "../../tools/tool-set.ts";
import { keptText, type ReportArtifact, reportArtifacts } from "./artifacts.ts";
import { hintFor } from "./hint.ts";
import { endingSentence } from "./sentences.ts";
import type { REPORT } from "./report-shape.ts";
import { shownOfLarge, type Stub, stubOf } from "./large-value.ts";

/** `Value` is the type that the schema `result` gives out. */
export interface Report<Value = unknown> extends Omit<SchemaType<typeof REPORT>, "outcome" | "artifacts"> {
  /** Id in the journal. A program that was refused before it started is not journalled. */
  readonly execution: ExecutionId;
  readonly outcome: Outcome;
  /** The whole value, as the schema `result` gives it out. Missing without a schema, and if the program did not complete. */
  readonly value?: Value;
  /** Values that are kept under names; for a program of a conversation, the values of the whole conversation. */
  readonly artifacts: readonly ReportArtifact[];
}

/** Maximum bytes of the text about an ending. A program may throw an error with a long message. */
const ENDING_BYTES = 8 * 1024;

const ADVICE = "Return less: select, aggregate or count in the program.";

function adviceOf(kept: KeptValue | undefined): string {
  if (!kept) return ADVICE;
  if (!kept.isShared) return `${ADVICE} All of it is kept for the host as ${kept.name}; no later program can load it.`;
  return `All of it is kept: read it in a later program by await load("${kept.name}"), and return less.`;
}

export interface ReportSituation {
  /** Whether the next program is given the answers of this one again, if this one did not complete. */
  readonly isGivenAgain?: boolean;
  /** A tool as its tenant is shown it, with what its results were like. */
  readonly shown?: ((tool: Tool) => Tool) | undefined;
}

export function reportOf<Value = unknown>(
  execution: Execution,
  tools: ToolSet,
  { isGivenAgain = false, shown }: ReportSituation = {},
): Report<Value> {
  const { ending, logs, calls, limits } = execution;
  const notes = execution.notes.map(cleanText);
  const remarks = execution.remarks.map(cleanText);
  const value = ending.type === "completed" ? shownValue(ending, limits.outputBytes, execution.kept?.value) : undefined;
  const printed = printedText(logs, limits, execution.kept?.printed);
  const parts =
    ending.type === "completed"
      ? [value?.text ?? "The program returned nothing."]
      : [endedText(ending, execution, tools, shown), ...effectsText(calls, tools)];
  const isAnswer = ({ tool, outcome }: CallLine) =>
    outcome.type === "value" && !KEEPING.has(tool) && tool !== SEARCH_TOOLS;
  if (isGivenAgain && ending.type !== "completed" && calls.some(isAnswer)) parts.push(GIVEN_AGAIN);
  const reused = calls.filter(({ from }) => from).length;
  if (reused > 0) parts.push(reusedText(reused, calls.length));
  if (notes.length > 0) parts.push(notes.map((note) => `Note: ${insetLines(note)}`).join("\n"));
  if (remarks.length > 0) parts.push(`Remarks from the sandbox:\n${remarks.map(insetText).join("\n")}`);
  const keptHere = keptText(execution.kept);
  if (keptHere !== "") parts.push(keptHere);
  if (printed !== undefined) parts.push(printed);
  const text = parts.join("\n\n");
  const cut = {
    valueBytes: value?.cutBytes,
    logLines: logs.dropped || undefined,
  };
  return {
    execution: execution.execution,
    outcome: ending.type === "completed" ? { type: "completed", value: value?.value } : ending,
    value: ending.type === "completed" ? (ending.checked?.value as Value) : undefined,
    output: {
      text,
      // A loop that makes failed calls again would make the calls of a program that waits once more.
      isError: ending.type !== "completed" && ending.type !== "waiting",
      cut: (cut.valueBytes ?? cut.logLines) ? cut : undefined,
      redacted: execution.redacted || undefined,
    },
    usage: {
      calls: calls.length,
      reused: reused || undefined,
      bytesIn: execution.resultBytes - keptBytes(calls),
      bytesSeen: execution.seenBytes,
      bytesOut: Buffer.byteLength(text),
      ...pick(execution, "queuedMs", "cpuMs", "approvalMs", "peakMemoryBytes", "turns", "restarts", "evictions"),
      waitingMs: Math.max(0, execution.wallMs - execution.cpuMs),
      notEvicted: execution.notEvicted,
      connections: execution.connections,
    },
    calls,
    logs,
    artifacts: reportArtifacts(execution.kept?.place.space),
    notes,
    unreplayable: execution.unreplayable,
    remarks,
  };
}

function endedText(
  ending: Exclude<Execution["ending"], CompletedOutcome>,
  { calls, turns }: Execution,
  tools: ToolSet,
  shown: ReportSituation["shown"],
): string {
  const called = calls.flatMap(({ tool, outcome }) => (outcome.type === "value" ? [tool] : []));
  const hint = ending.type === "failed" ? hintFor(ending.fault, tools, called, shown) : undefined;
  return cutMiddle(cleanText(endingSentence(ending, hint, turns > 0)), ENDING_BYTES, INSET);
}

/**
 * Printed text, indented, under its heading. Both ends of it are shown as they are, unless they take too many bytes once they
 * are escaped. A cut may remove the line with the number of omitted lines, so the line of the cut gives this number too.
 */
function printedText(
  { text, bytes, lines, dropped }: Logs,
  { logBytes }: Limits,
  kept: KeptValue | undefined,
): string | undefined {
  if (text.trimEnd() === "") return undefined;
  const shownLines = lines - dropped + 2;
  const allowedBytes = Math.max(logBytes * 2, bytes) + INSET.length * shownLines;
  const besides = dropped === 0 ? "" : ` and ${dropped} ${dropped === 1 ? "line" : "lines"}`;
  return `${printedHeading(kept)}\n${cutMiddle(insetText(text.trimEnd()), allowedBytes, INSET, besides)}`;
}

function printedHeading(kept: KeptValue | undefined): string {
  if (!kept) return "Printed:";
  return kept.isShared
    ? `Printed, and kept: read it in a later program by await load("${kept.name}"). Its first and last lines:`
    : `Printed, and kept for the host as ${kept.name}. Its first and last lines:`;
}

/** `cutBytes` are the bytes of the whole value, if a stub stands for it. */
function shownValue(
  { value, counts, texts, text }: CompletedOutcome,
  outputBytes: number,
  kept: KeptValue | undefined,
) {
  if (text === undefined) return { value, text };
  const bytes = Buffer.byteLength(text);
  const shown = bytes <= outputBytes ? cleanText(text) : undefined;
  if (shown !== undefined && Buffer.byteLength(shown) <= outputBytes) return { value, text: shown };
  const large = { value, bytes, counts: counts ?? new Map(), texts };
  const stub: Stub = stubOf(large, shownOfLarge(value, outputBytes), adviceOf(kept), kept?.name);
  return { value: stub, text: cleanText(JSON.stringify(stub)), cutBytes: bytes };
}

/** Bytes that a program's own `save` and `load` returned: no tool returned them. */
function keptBytes(calls: readonly CallLine[]): number {
  const own = calls.filter(({ tool, callId }) => KEEPING.has(tool) && !callId.includes("/"));
  return sumOf(own, ({ bytes }) => bytes);
}

const KEEPING: ReadonlySet<string> = new Set([SAVE_ARTIFACT, LOAD_ARTIFACT]);

/** Failures of calls whose handler returned, and whose result was rejected. */
const RESULT_REJECTED: ReadonlySet<FailureCode> = new Set(["output_invalid", "result_too_large", "result_over_budget"]);

function returned({ outcome }: CallLine): boolean {
  return outcome.type === "value" || (outcome.type === "failed" && RESULT_REJECTED.has(outcome.code));
}

/** Calls with effects of a program that did not complete: the next program must not repeat them. */
function effectsText(calls: readonly CallLine[], tools: ToolSet): string[] {
  // Calls that a nested agent made are listed as the call of that agent. They have ids with a slash.
  const changing = calls.filter(
    ({ callId, tool, started, from, effect }) =>
      (started || from) && !callId.includes("/") && (effect ?? tools.get(tool)?.effect ?? "read") !== "read",
  );
  const done = listOf(changing.filter(returned));
  const unsure = listOf(changing.filter((line) => !returned(line)));
  return [
    ...(done === "" ? [] : [`Already done, and not undone: ${done}.`]),
    ...(unsure === "" ? [] : [`Started, and may have taken effect: ${unsure}.`]),
  ];
}

const GIVEN_AGAIN = "The next program may make the same calls: they are answered from this run, and not made again.";

/** The text of a report for a conversation that copies it: its programs correct none of those that it copies. */
export function copiedReport(text: string): string {
  return text.replace(GIVEN_AGAIN, "A program that makes the same calls makes them again.");
}

function reusedText(reused: number, calls: number): string {
  const which =
    reused === calls
      ? calls === 1
        ? "Its call was"
        : `All ${count(calls)} calls were`
      : `${count(reused)} of its ${count(calls)} calls ${reused === 1 ? "was" : "were"}`;
  return `${which} answered from before: an earlier program had made the same, and nothing was done again.`;
}

/** `bank.pay (2 times), crm.note, crm.export (12,000 items)`. */
function listOf(calls: readonly CallLine[]): string {
  const byTool = [...Map.groupBy(calls, ({ tool }) => tool)];
  return byTool.map(([tool, lines]) => [tool, ...amountsOf(lines)].join(" ")).join(", ");
}

function amountsOf(lines: readonly CallLine[]): readonly string[] {
  const amounts = [
    ...(lines.length === 1 ? [] : [`${lines.length} times`]),
    ...(lines.some(({ items }) => items !== undefined)
      ? [
          countText(
            sumOf(lines, ({ items = 0 }) => items),
            "item",
          ),
        ]
      : []),
  ];
  return amounts.length === 0 ? [] : [`(${amounts.join(", ")})`];
}
