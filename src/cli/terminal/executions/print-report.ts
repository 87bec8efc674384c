import type { Report } from "../../../output/report.ts";
import { endingText } from "../../../views/words.ts";
import { byteText } from "../../../output/byte-text.ts";
import { count, counted } from "../../../output/count-text.ts";
import { oneLine } from "../one-line.ts";
import { writeStderr, writeStdout } from "../standard-streams.ts";
import type { AgentReport } from "../../../agent/agent-report.ts";
import { agentEndingText } from "../../../agent/ending-text.ts";
import type { OperatorLog } from "./operator-log.ts";
import { printJson, table } from "../print.ts";

/** Prints what a model would read on standard output, and how the execution ended on standard error. `hints` say how it goes on. */
export function printReport({ output, outcome, usage }: Report, hints: readonly string[]): void {
  writeStdout(`${output.text}\n`);
  const note = (text: string) => writeStderr(`${text}\n`);
  if (outcome.type === "crashed") note(`portcullis: ${oneLine(outcome.detail)}`);
  for (const hint of hints) note(hint);
  const seconds = ((usage.runningMs + usage.waitingMs) / 1000).toFixed(1);
  note(
    `${endingText(outcome)}: ${counted(usage.calls, "call")}, ${byteText(usage.bytesIn)} in, ${byteText(usage.bytesOut)} out, ${seconds} s`,
  );
}

/**
 * Prints on standard error how a conversation ended, and what its turns took. Its text was printed while it came.
 * `hints` say how it goes on.
 */
export function printAgentReport({ ending, transcript, usage }: AgentReport<unknown>, hints: readonly string[]): void {
  if (ending.type !== "answered") writeStderr(`${ending.type}: ${oneLine(agentEndingText(ending))}\n`);
  for (const hint of hints) writeStderr(`${hint}\n`);
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
