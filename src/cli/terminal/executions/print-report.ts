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
import { callsOf, programsOf } from "./turn-counts.ts";

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
export function printAgentReport(report: AgentReport<unknown>, hints: readonly string[]): void {
  const { ending } = report;
  if (ending.type !== "answered") writeStderr(`${ending.type}: ${oneLine(agentEndingText(ending))}\n`);
  for (const hint of hints) writeStderr(`${hint}\n`);
  const head = ["", "tokens in", "tokens out", "programs", "calls"];
  writeStderr(`${table(head, turnRows(report), head.slice(1))}\n`);
}

/** A row for each turn, and their sum. */
function turnRows({ transcript, calls, usage }: AgentReport<unknown>): readonly (readonly string[])[] {
  // The turns of a conversation that this one continues were counted there.
  const turns = transcript.turns.slice(transcript.turns.length - usage.turns);
  const row = (name: string, { inputTokens, outputTokens }: Tokens, programs: number, made: number) => [
    name,
    ...[inputTokens, outputTokens, programs, made].map(count),
  ];
  const rest = turns.reduce<Tokens>(
    (left, { turn }) => ({
      inputTokens: left.inputTokens - turn.usage.inputTokens,
      outputTokens: left.outputTokens - turn.usage.outputTokens,
    }),
    usage,
  );
  const others = rest.inputTokens > 0 || rest.outputTokens > 0;
  return [
    ...turns.map((one, index) =>
      row(`turn ${index + 1}`, one.turn.usage, programsOf([one]), callsOf([one], calls).length),
    ),
    ...(others ? [row("agents and failed replies", rest, 0, 0)] : []),
    row("all", usage, programsOf(turns), usage.calls),
  ];
}

type Tokens = Pick<AgentReport<unknown>["usage"], "inputTokens" | "outputTokens">;

export function printAgentJson(
  { execution, ending, answer, transcript, calls, usage, artifacts }: AgentReport<unknown>,
  operator: OperatorLog,
): void {
  const report = { execution, ending, answer: answer ?? null, turns: transcript.turns, calls, usage, artifacts };
  printJson({ ...report, operator: operator.entries });
}
