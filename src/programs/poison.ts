import type { ExecutionId } from "../journal/execution-id.ts";
import type { Execution } from "./execute.ts";
import type { ExecutionState } from "./execution-state.ts";
import type { Ending } from "./outcome.ts";
import type { Past } from "./past-execution.ts";
import type { Scope } from "./scope.ts";
import type { TrackedLog } from "./tracked-log.ts";
import { undriven } from "./undriven.ts";

/** Number of drivers that may take an execution up and die while the program has the turn, without a new turn in between. */
const DEATHS = 3;

/** Whether the program itself may be what its drivers died of: each died while it had the turn, and it got no further. */
export function isPoison({ silent }: ExecutionState): boolean {
  return silent.size >= DEATHS;
}

/** Whether a driver that takes the execution up would add its own death to those of others. */
export function isSuspect({ silent, isHanded }: ExecutionState): boolean {
  return silent.size > 0 || isHanded;
}

/** Ends an execution that its driver has just claimed as `crashed`, without running it. */
export async function endPoisoned(
  scope: Pick<Scope, "journal" | "artifacts">,
  execution: ExecutionId,
  past: Past,
  log: TrackedLog,
): Promise<Execution> {
  const detail = `${DEATHS} hosts died in a row while the program ran`;
  const ending: Ending = { type: "crashed", code: "engine_died", detail };
  try {
    await log.append({ type: "outcome", outcome: JSON.stringify(ending), at: Date.now() });
  } finally {
    await log.end(true);
  }
  return undriven(scope, execution, past, ending);
}
