import type { FailureEntry, Logger } from "../../../gate/run/failure-log.ts";
import { insetText, byteText, countText, cleanText, INSET } from "../../../base/index.ts";
import { thrownText, type Report } from "../../../executions/output/index.ts";
import { oneLine, writeStderr, writeStdout, wrappedLines, standardStreams } from "../standard-streams.ts";
import { conversationFunnel } from "../../../serve/views/parts/funnel-view.ts";
import { endingText, funnelInLine, tokensText, duration, hostedCallText } from "../../../serve/views/words.ts";
import type { AgentReport } from "../../../conversations/agent-report.ts";
import { agentEndingText } from "../../../conversations/index.ts";
import type { AgentEvent } from "../../../conversations/event.ts";
import { outcomeText } from "../../../gate/answer.ts";
import type { CallLine } from "../../../gate/call-line.ts";
import { isApprovalOfProgram } from "../../../executions/from-journal/index.ts";
import type { Screen } from "./ask-approvals.ts";

/** A failure of a handler, as `--json` has it under `operator`. */
export interface OperatorEntry extends Omit<FailureEntry, "err"> {
  readonly message: string;
  /** What the handler threw, with its stack unless the failure is a known one; missing if it threw nothing. */
  readonly error?: string;
}

export function operatorEntry({ err, ...entry }: FailureEntry, message: string): OperatorEntry {
  return { ...entry, message, error: err === undefined ? undefined : thrownText(err) };
}

/** Prints each failure of a handler when it happens. Its text comes from tools, so it is indented. */
export const printFailures: Logger = {
  error(entry, message) {
    const stack = entry.err === undefined ? "" : `\n${insetText(thrownText(entry.err))}`;
    writeStderr(`portcullis: ${oneLine(message)}${stack}\n`);
  },
};

/** Prints what a model would read on standard output, and how the execution ended on standard error. `hints` say how it goes on. */
export function printReport({ output, outcome, usage }: Report, hints: readonly string[]): void {
  writeStdout(`${output.text}\n`);
  const note = (text: string) => writeStderr(`${text}\n`);
  if (outcome.type === "crashed") note(`portcullis: ${oneLine(outcome.detail)}`);
  for (const hint of hints) note(hint);
  const seconds = ((usage.cpuMs + usage.waitingMs) / 1000).toFixed(1);
  note(
    `${endingText(outcome)}: ${countText(usage.calls, "call")}, ${byteText(usage.bytesIn)} in, ${byteText(usage.bytesOut)} out, ${seconds} s`,
  );
}

/**
 * Prints on standard error how a conversation ended, and what its turns took. Its text was printed while it came.
 * `hints` say how it goes on.
 */
export function printAgentReport(report: AgentReport<unknown>, hints: readonly string[]): void {
  const { ending } = report;
  if (ending.type !== "answered") writeStderr(`${ending.type}: ${oneLine(agentEndingText(ending))}\n`);
  for (const hint of hints) writeStderr(`${hint}\n`);
  writeStderr(`${totalsText(report)}\n`);
}

/** What a conversation has taken so far: the funnel, and turns, programs, calls and tokens. The turns of one that it continues were counted there. */
export function totalsText({ calls, transcript, usage }: AgentReport<unknown>): string {
  const turns = transcript.turns.slice(transcript.turns.length - usage.turns);
  const results = turns.flatMap((one) => one.results);
  const programs = turns.flatMap(({ turn }) => [
    ...turn.calls.filter(({ type }) => type === "program_call"),
    ...turn.hosted.filter(({ type }) => type === "hosted_program_started"),
  ]);
  const summary = [
    countText(turns.length, "turn"),
    ...(programs.length === 0 ? [] : [countText(programs.length, "program")]),
    countText(calls.length, "call"),
    tokensText(usage),
  ].join(", ");
  return results.length === 0 ? summary : `${funnelInLine(conversationFunnel(calls, results))}\n${summary}`;
}

/**
 * Shows a conversation while it goes on, as lines: the model's text on standard output, calls and programs on standard error.
 * Its id is that of the first event, if it is not known. `isInset`: the text is indented, so that it stands apart from what
 * the command line says.
 *
 * The text comes from the model, a tool or a program: it may contain terminal control sequences, or imitate the lines
 * printed here. So names stay within their line, and programs are indented.
 */
export function showConversation(
  screen: Screen,
  { conversation: id, isInset }: { readonly conversation?: string; readonly isInset?: boolean } = {},
): (event: AgentEvent) => void {
  let conversation = id;
  let inLine = false;
  const cleaner = new StreamCleaner();
  const indent = isInset ? INSET : "";
  const show = (event: AgentEvent) => {
    conversation ??= event.execution;
    // Text of agents that are tools is not part of the answer, and several may write at once.
    if (event.type === "text" && event.execution !== conversation) return;
    if (event.type === "text" && event.text !== "") {
      const text = cleaner.add(event.text);
      writeStdout((inLine ? "" : indent) + text.replaceAll(/\n(?=.)/gs, `\n${indent}`));
      inLine = !event.text.endsWith("\n");
    } else if (ENDS_TEXT.has(event.type) && inLine) {
      writeStdout(`${cleaner.end()}\n`);
      inLine = false;
    } else {
      const text = workText(event);
      if (text !== undefined) writeStderr(`${text}\n`);
    }
  };
  return (event) => screen.show(() => show(event));
}

/** After these, no more of the model's text follows in its line. */
const ENDS_TEXT: ReadonlySet<AgentEvent["type"]> = new Set([
  "turn_ended",
  "conversation_ended",
  "conversation_resting",
]);

/** Cells of a line; any number where it is no terminal. */
const columns = () => standardStreams().stderr.columns || Number.POSITIVE_INFINITY;

/** What is told of an event, if anything is. */
function workText(event: AgentEvent): string | undefined {
  switch (event.type) {
    case "model_changed":
      return `${oneLine(event.model)} takes over: the previous model failed`;
    case "fallback_refused":
      return `${oneLine(event.model)} cannot take over: ${oneLine(event.reason)}`;
    case "tools_not_strict":
      return looseText(event);
    case "program_started":
      return `\n── program${event.hosted ? " at the provider" : ""} ──\n${wrappedLines(event.source.trimEnd(), columns()).join("\n")}\n──`;
    case "hosted_call_ended":
      // A call that the provider made itself, and what it gave.
      return oneLine(`${hostedCallText({ ...event, input: "" })}, data from outside${filesText(event)}`);
    case "program_ended":
      return `program ${event.isError ? "failed" : "done"}${filesText(event)}`;
    case "call_ended":
      if (isApprovalOfProgram(event)) return undefined;
      return `${event.caller === "direct" ? "call" : "  call from the program"}: ${endedCallText(event)}`;
    default:
      return undefined;
  }
}

/** The files that a provider keeps, by the ids by which it gives them out. */
function filesText({ files = [] }: { readonly files?: readonly string[] }): string {
  return files.length === 0 ? "" : `, with files at the provider: ${files.join(", ")}`;
}

/** How a call has ended, like `orders.find → array of 3, 12 ms`. */
function endedCallText({ tool, outcome, ms, items }: CallLine): string {
  const after = items === undefined || outcome.type === "value" ? "" : ` after ${countText(items, "item")}`;
  return `${oneLine(tool)} → ${oneLine(outcomeText(outcome))}${after}, ${duration(ms)}`;
}

/** A sentence on tools that the model's provider does not hold to their schemas. */
function looseText({ model, tools }: { readonly model: string; readonly tools: readonly string[] }): string {
  const names = tools.slice(0, NAMED_TOOLS).map(oneLine).join(", ");
  const more = tools.length > NAMED_TOOLS ? ` and ${tools.length - NAMED_TOOLS} more` : "";
  return `not strict at ${oneLine(model)}: ${names}${more}`;
}

/** Tools that a line names. */
const NAMED_TOOLS = 10;

/** What may be the first half of something that `cleanText` tells from its second half. */
const HALVES = /(?:\r|\ufe0f|[\ud800-\udbff])$/;

/**
 * Cleans foreign text that comes in pieces: together the results are what `cleanText` makes of the whole. Each character
 * that could begin a sequence of a terminal becomes an escape by itself, so a sequence gains nothing by being split.
 * Holds one character.
 */
export class StreamCleaner {
  #held = "";

  add(piece: string): string {
    const text = this.#held + piece;
    const cleaned = cleanText(text);
    this.#held = HALVES.test(text) ? text.slice(-1) : "";
    return this.#held === "" ? cleaned : cleaned.slice(0, -cleanText(this.#held).length);
  }

  /** What was held. */
  end(): string {
    const rest = cleanText(this.#held);
    this.#held = "";
    return rest;
  }
}
