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

const OF_OUTCOME: Readonly<Record<Report["outcome"]["type"], number>> = {
  completed: EXIT.completed,
  failed: EXIT.failed,
  stopped: EXIT.stopped,
  crashed: EXIT.environment,
  cancelled: EXIT.cancelled,
  waiting: EXIT.waiting,
};

export function exitCodeOf(report: Report): number {
  const { outcome } = report;
  const isRefused = outcome.type === "failed" && wasRefused(report, outcome.fault.code ?? "");
  return isRefused ? EXIT.refused : OF_OUTCOME[outcome.type];
}

/** Whether the failure is a refusal by the host. The program chooses the code of the error that it throws, so the code must match a refusal in the report. */
function wasRefused({ usage, calls }: Report, code: string): boolean {
  const startedNothing = usage.turns === 0;
  return startedNothing
    ? /^programs?_/.test(code)
    : calls.some(({ outcome }) => outcome.type === "refused" && outcome.code === code);
}

const OF_ENDING: Readonly<Record<AgentEnding["type"], number>> = {
  answered: EXIT.completed,
  refused: EXIT.refused,
  turns_spent: EXIT.stopped,
  tokens_spent: EXIT.stopped,
  cut_off: EXIT.stopped,
  stuck: EXIT.stopped,
  stopped: EXIT.stopped,
  answer_invalid: EXIT.stopped,
  provider_failed: EXIT.environment,
  waiting: EXIT.waiting,
  cancelled: EXIT.cancelled,
};

export function agentExitCodeOf({ type }: AgentEnding): number {
  return OF_ENDING[type];
}
