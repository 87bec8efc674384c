import type { AgentEnding } from "../agent/ending.ts";
import type { Report } from "../output/report.ts";

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

export function exitCodeOf(report: Report): number {
  switch (report.outcome.type) {
    case "completed":
      return EXIT.completed;
    case "failed":
      return wasRefused(report, report.outcome.fault.code ?? "") ? EXIT.refused : EXIT.failed;
    case "stopped":
      return EXIT.stopped;
    case "crashed":
      return EXIT.environment;
    case "cancelled":
      return EXIT.cancelled;
    case "waiting":
      return EXIT.waiting;
  }
}

/** Whether the failure is a refusal by the host. The program chooses the code of the error that it throws, so the code must match a refusal in the report. */
function wasRefused({ usage, calls }: Report, code: string): boolean {
  const startedNothing = usage.turns === 0;
  return startedNothing
    ? /^programs?_/.test(code)
    : calls.some(({ outcome }) => outcome.type === "refused" && outcome.code === code);
}

export function agentExitCodeOf(ending: AgentEnding): number {
  switch (ending.type) {
    case "answered":
      return EXIT.completed;
    case "refused":
      return EXIT.refused;
    case "turns_spent":
    case "tokens_spent":
    case "cut_off":
    case "stuck":
    case "stopped":
    case "answer_invalid":
      return EXIT.stopped;
    case "provider_failed":
      return EXIT.environment;
    case "waiting":
      return EXIT.waiting;
    case "cancelled":
      return EXIT.cancelled;
  }
}
