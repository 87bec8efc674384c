import type { FailureEntry, Logger } from "../../../gate/run/failure-log.ts";
import { insetText, byteText, countText } from "../../../base/index.ts";
import { thrownText, type Report } from "../../../executions/output/index.ts";
import { oneLine, writeStderr, writeStdout } from "../standard-streams.ts";
import { conversationFunnel } from "../../../serve/views/parts/funnel-view.ts";
import { endingText, funnelInLine, tokensText } from "../../../serve/views/words.ts";
import type { AgentReport } from "../../../conversations/agent-report.ts";
import { agentEndingText } from "../../../conversations/index.ts";

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
    const { error } = operatorEntry(entry, message);
    const stack = error === undefined ? "" : `\n${insetText(error)}`;
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
  writeStderr(`${takenText(report)}\n`);
}

/** What a conversation has taken so far: the funnel, and turns, programs, calls and tokens. The turns of one that it continues were counted there. */
export function takenText({ calls, transcript, usage }: AgentReport<unknown>): string {
  const turns = transcript.turns.slice(transcript.turns.length - usage.turns);
  const results = turns.flatMap((one) => one.results);
  const programs = turns.flatMap(({ turn }) => [
    ...turn.calls.filter(({ type }) => type === "program_call"),
    ...turn.hosted.filter(({ type }) => type === "hosted_program_started"),
  ]);
  const made = [
    countText(turns.length, "turn"),
    ...(programs.length === 0 ? [] : [countText(programs.length, "program")]),
    countText(calls.length, "call"),
    tokensText(usage),
  ].join(", ");
  return results.length === 0 ? made : `${funnelInLine(conversationFunnel(calls, results))}\n${made}`;
}
