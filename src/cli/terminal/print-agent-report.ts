import type { AgentReport } from "../../agent/agent-report.ts";
import { agentEndingText } from "../../agent/ending.ts";
import { cleanText } from "../../output/clean-text.ts";
import { oneLine } from "./one-line.ts";
import type { OperatorLog } from "./operator-log.ts";
import { writeStdout } from "./standard-streams.ts";
import { table } from "./table.ts";
import { type SameOptions, waitingHints } from "./waiting-hints.ts";

/** Prints on standard error how a conversation ended, and what its turns took. Its text was printed while it came. */
export function printAgentReport(
  { execution, ending, transcript, usage }: AgentReport<unknown>,
  same: SameOptions,
): void {
  if (ending.type !== "answered") process.stderr.write(`${ending.type}: ${oneLine(agentEndingText(ending))}\n`);
  if (ending.type === "waiting")
    for (const hint of waitingHints(execution, ending, same)) process.stderr.write(`${hint}\n`);
  const row = (
    name: string,
    tokens: { readonly inputTokens: number; readonly outputTokens: number },
    calls: number,
  ) => [name, `${tokens.inputTokens}`, `${tokens.outputTokens}`, `${calls}`];
  const rows = transcript.turns.map(({ turn }, index) => row(`turn ${index + 1}`, turn.usage, turn.calls.length));
  const head = ["", "tokens in", "tokens out", "calls"];
  process.stderr.write(`${table(head, [...rows, row("all", usage, usage.calls)], head.slice(1))}\n`);
}

/** Prints a conversation as one JSON document on standard output. */
export function printAgentJson(
  { execution, ending, answer, transcript, calls, usage, artifacts }: AgentReport<unknown>,
  operator: OperatorLog,
): void {
  const report = { execution, ending, answer: answer ?? null, turns: transcript.turns, calls, usage, artifacts };
  writeStdout(`${cleanText(JSON.stringify({ ...report, operator: operator.entries }))}\n`);
}
