import { PortcullisError } from "../errors.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Execution } from "./execute.ts";
import type { Ending } from "./outcome.ts";
import type { Past } from "./past-execution.ts";
import type { Scope } from "./scope.ts";
import { readReturned } from "./settlement.ts";

const NO_TIMES = { queuedMs: 0, runningMs: 0, wallMs: 0, approvalMs: 0, peakMemoryBytes: 0 };

/** An execution that is not driven, as its journal tells of it. */
export function undriven(execution: ExecutionId, past: Past, ending: Ending): Execution {
  const { state, logs, lines, resultBytes, outcome } = past;
  const { turns, restarts, connections, settled } = state;
  return {
    // A journal may come from elsewhere, and its usage may have any names.
    ...NO_TIMES,
    ...outcome?.usage,
    execution,
    ending,
    logs: logs.logs,
    notes: outcome?.notes ?? [],
    remarks: settled?.notes ?? [],
    turns,
    restarts,
    connections,
    calls: lines,
    resultBytes,
  };
}

/** An execution that has ended, with its value. Rejects with `journal_invalid` for a value that cannot be read. */
export async function endedExecution(
  execution: ExecutionId,
  past: Past,
  { gate, limits, tenant }: Scope,
): Promise<Execution> {
  const ending = JSON.parse(past.outcome?.outcome ?? "null") as Ending;
  if (ending.type !== "completed") return undriven(execution, past, ending);
  const body = past.state.settled?.body;
  const share = gate.held.share(tenant, limits.totalBytes);
  try {
    const returned =
      body === undefined ? { value: undefined } : await readReturned(body, limits.outputBytes, share.lane);
    if (!returned) throw new PortcullisError("journal_invalid", `The value of execution ${execution} cannot be read.`);
    return undriven(execution, past, { type: "completed", ...returned, text: body });
  } finally {
    share.end();
  }
}
