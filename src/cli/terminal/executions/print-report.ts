import type { Report } from "../../../output/report.ts";
import { endingText } from "../../../views/words.ts";
import { byteText } from "../../../output/byte-text.ts";
import { count, counted } from "../../../output/count-text.ts";
import { oneLine } from "../one-line.ts";
import { restsText, type SameOptions, waitingHints } from "./waiting-hints.ts";
import { writeStderr, writeStdout } from "../standard-streams.ts";
import type { AgentReport } from "../../../agent/agent-report.ts";
import { agentEndingText } from "../../../agent/ending-text.ts";
import type { OperatorLog } from "./operator-log.ts";
import { printJson, table } from "../print.ts";

/** Prints what a model would read on standard output, and how the execution ended on standard error. */
export function printReport({ execution, output, outcome, usage }: Report, same: SameOptions): void {
  writeStdout(`${output.text}\n`);
  const note = (text: string) => writeStderr(`${text}\n`);
  if (outcome.type === "crashed") note(`portcullis: ${oneLine(outcome.detail)}`);
  if (outcome.type === "waiting") for (const hint of waitingHints(execution, outcome, same)) note(hint);
  const seconds = ((usage.runningMs + usage.waitingMs) / 1000).toFixed(1);
  note(
    `${endingText(outcome)}: ${counted(usage.calls, "call")}, ${byteText(usage.bytesIn)} in, ${byteText(usage.bytesOut)} out, ${seconds} s`,
  );
}

/**
 * Prints on standard error how a conversation ended, and what its turns took. Its text was printed while it came.
 * `rests`: only the user, or the host in the user's place, brings it further.
 */
export function printAgentReport(
  { execution, ending, transcript, usage }: AgentReport<unknown>,
  same: SameOptions,
  rests: boolean,
): void {
  if (ending.type !== "answered") writeStderr(`${ending.type}: ${oneLine(agentEndingText(ending))}\n`);
  if (rests) writeStderr(`portcullis: ${restsText(execution)}\n`);
  else if (ending.type === "waiting")
    for (const hint of waitingHints(execution, ending, same)) writeStderr(`${hint}\n`);
  const row = (
    name: string,
    tokens: { readonly inputTokens: number; readonly outputTokens: number },
    calls: number,
  ) => [name, ...[tokens.inputTokens, tokens.outputTokens, calls].map(count)];
  const rows = transcript.turns.map(({ turn }, index) => row(`turn ${index + 1}`, turn.usage, turn.calls.length));
  const head = ["", "tokens in", "tokens out", "calls"];
  writeStderr(`${table(head, [...rows, row("all", usage, usage.calls)], head.slice(1))}\n`);
}

export function printAgentJson(
  { execution, ending, answer, transcript, calls, usage, artifacts }: AgentReport<unknown>,
  operator: OperatorLog,
): void {
  const report = { execution, ending, answer: answer ?? null, turns: transcript.turns, calls, usage, artifacts };
  printJson({ ...report, operator: operator.entries });
}
