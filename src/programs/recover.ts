import { PortcullisError } from "../errors.ts";
import { drivenHere } from "./driven-here.ts";
import type { Execution } from "./execute.ts";
import { readPast } from "./past-execution.ts";
import { takeUp } from "./resume.ts";
import type { Scope } from "./scope.ts";
import { waitingOf } from "./waiting.ts";

/**
 * Takes up every program's execution that has no outcome, that no driver holds, and that does not only wait, one after
 * the other.
 */
export async function* recover(
  scope: Scope,
): AsyncGenerator<{ readonly execution: Execution; readonly tenant: string }> {
  const { journal } = scope;
  for await (const { execution, kind, tenant, lease } of journal.list({ open: true })) {
    const isDriven = (lease !== undefined && lease.until > Date.now()) || drivenHere(journal, execution) !== undefined;
    if (kind !== "program" || isDriven) continue;
    const past = await readPast(journal.read(execution));
    if (waitingOf(past.state)) continue;
    try {
      yield { execution: await takeUp({ ...scope, tenant }, execution, past, {}), tenant };
    } catch (error) {
      // Another process has taken it up first.
      if (!PortcullisError.is(error) || (error.code !== "head_moved" && error.code !== "execution_driven")) throw error;
    }
  }
}
