import type { AgentEnding } from "../conversations/ending.ts";
import type { Report } from "../executions/output/index.ts";

export const EXIT = {
  completed: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  stopped: 4,
  environment: 5,
  waiting: 6,
  hungUp: 129,
  cancelled: 130,
  terminated: 143,
} as const;

const OF_END: Readonly<Record<Exclude<Report["outcome"]["type"], "failed"> | AgentEnding["type"], number>> = {
  completed: EXIT.completed,
  answered: EXIT.completed,
  refused: EXIT.refused,
  stopped: EXIT.stopped,
  turns_spent: EXIT.stopped,
  tokens_spent: EXIT.stopped,
  cut_off: EXIT.stopped,
  stuck: EXIT.stopped,
  answer_invalid: EXIT.stopped,
  crashed: EXIT.environment,
  provider_failed: EXIT.environment,
  waiting: EXIT.waiting,
  cancelled: EXIT.cancelled,
};

export function exitCodeOf({ outcome, usage, calls }: Report): number {
  if (outcome.type !== "failed") return OF_END[outcome.type];
  const { code = "" } = outcome.fault;
  // The program chooses the code of the error that it throws: a refusal by the host is one that the report has too.
  const isRefused =
    usage.turns === 0
      ? /^programs?_/.test(code)
      : calls.some((call) => call.outcome.type === "refused" && call.outcome.code === code);
  return isRefused ? EXIT.refused : EXIT.failed;
}

export function agentExitCodeOf({ type }: AgentEnding): number {
  return OF_END[type];
}
