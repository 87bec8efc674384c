import { randomUUID } from "node:crypto";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Execution } from "./execute.ts";
import type { Past } from "./past-execution.ts";
import type { Scope } from "./scope.ts";
import { TrackedLog } from "./tracked-log.ts";
import { undriven } from "./undriven.ts";

/**
 * Ends the execution of a program whose conversation ends or has ended without it, as cancelled. Nothing of it runs.
 * Rejects as the journal does, with `head_moved` if it goes on elsewhere.
 */
export async function cancelLeft(
  scope: Pick<Scope, "journal" | "leaseMs">,
  execution: ExecutionId,
  past: Past,
): Promise<Execution> {
  const { journal, leaseMs } = scope;
  const log = await TrackedLog.claim(journal, past.state, { driver: randomUUID(), leaseMs });
  const ending = { type: "cancelled" } as const;
  try {
    await log.append({ type: "outcome", outcome: JSON.stringify(ending), at: Date.now() });
  } finally {
    await log.end(true);
  }
  return undriven(scope, execution, past, ending);
}
