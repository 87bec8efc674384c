import { randomUUID } from "node:crypto";
import { now } from "../../../base/index.ts";
import type { Execution } from "../../execution.ts";
import type { Ending } from "../../outcome.ts";
import type { ExecutionState } from "../../from-journal/execution-state.ts";
import type { Past } from "../../from-journal/past-execution.ts";
import { recordedExecution } from "../../from-journal/recorded-execution.ts";
import { TrackedLog } from "../../from-journal/tracked-log.ts";
import type { Scope } from "../../scope.ts";

/** Number of drivers that may take an execution up and die while the program has the turn, without a new turn in between. */
const DEATHS = 3;

/** Whether the program itself may have killed its drivers: each died while the program had the turn, and the program got no further. */
export function killsItsDrivers({ drivers }: ExecutionState): boolean {
  return drivers.silent.size >= DEATHS;
}

/** Whether a driver that takes the execution up would add its own death to the deaths of others. */
export function mayKillItsDriver({ drivers }: ExecutionState): boolean {
  return drivers.silent.size > 0 || drivers.isHanded;
}

/** Ends as `crashed` an execution whose program has killed its drivers. `log` is the log of the driver that has just claimed it. */
export function endAsDeadly(scope: Scope, past: Past, log: TrackedLog): Promise<Execution> {
  const detail = `${DEATHS} hosts died in a row while the program ran`;
  return endAs({ type: "crashed", code: "engine_died", detail }, scope, past, log);
}

/**
 * Ends an execution as cancelled, because its conversation ends or has ended without it. Rejects as the journal does,
 * with `head_moved` if another driver goes on with the execution.
 */
export async function endAsCancelled(
  scope: Pick<Scope, "journal" | "leaseMs" | "artifacts">,
  past: Past,
): Promise<Execution> {
  const { journal, leaseMs } = scope;
  const log = await TrackedLog.claim(journal, past.state, { driver: randomUUID(), leaseMs });
  return endAs({ type: "cancelled" }, scope, past, log);
}

async function endAs(
  ending: Ending,
  scope: Pick<Scope, "journal" | "artifacts">,
  past: Past,
  log: TrackedLog,
): Promise<Execution> {
  await log.end({ type: "outcome", outcome: JSON.stringify(ending), at: now() });
  return recordedExecution(scope, past, ending);
}
