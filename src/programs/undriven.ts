import { ArtifactSpace } from "../journal/artifact-space.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { NOT_DRIVEN } from "./drive.ts";
import type { Execution } from "./execute.ts";
import { approverOfProgram } from "./execution-state.ts";
import { invalidAt } from "./history.ts";
import { keptBefore } from "./keep-value.ts";
import type { Ending } from "./outcome.ts";
import type { Past } from "./past-execution.ts";
import { PortcullisError } from "../errors.ts";
import { checkResult, type ResultSchema } from "./result-schema.ts";
import type { Scope } from "./scope.ts";
import { readReturned } from "./settlement.ts";

/** An execution that is not driven, as its journal tells of it. */
export function undriven(
  scope: Pick<Scope, "journal" | "artifacts">,
  execution: ExecutionId,
  past: Past,
  ending: Ending,
): Execution {
  const { state, logs, lines, resultBytes, outcome } = past;
  const { turns, restarts, connections, seenBytes, settled } = state;
  const place = scope.artifacts ?? {
    space: new ArtifactSpace(scope.journal, execution, past.artifacts),
    prefix: "",
  };
  return {
    // A journal may come from elsewhere, and its usage may have any names.
    ...NOT_DRIVEN,
    ...outcome?.usage,
    execution,
    ending,
    logs: logs.logs,
    notes: outcome?.notes ?? [],
    remarks: settled?.notes ?? [],
    turns,
    restarts,
    connections,
    seenBytes,
    calls: lines,
    resultBytes,
    approvedBy: approverOfProgram(state),
    kept: { place, value: keptBefore(place) },
  };
}

/** An execution that has ended, with its value. Rejects with `journal_invalid` for a value that cannot be read, and with `option_invalid` for one that fitted the schema of the result and does not now. */
export async function endedExecution(
  execution: ExecutionId,
  past: Past,
  scope: Scope,
  result?: ResultSchema,
): Promise<Execution> {
  const { gate, limits, tenant } = scope;
  // Loaded on demand: loading the schema library takes as long as running a program.
  const { parseEnding } = await import("./parse-ending.ts");
  const ending = parseEnding(past.outcome?.outcome ?? "");
  const { settled } = past.state;
  if (!ending || (ending.type === "completed" && settled?.ok === false))
    throw invalidAt(execution, past.state.records - 1, "its outcome is not that of a program");
  if (ending.type !== "completed") return undriven(scope, execution, past, ending);
  const body = settled?.body;
  const share = gate.held.share(tenant, limits.totalBytes);
  try {
    const returned =
      body === undefined ? { value: undefined } : await readReturned(body, limits.outputBytes, share.lane);
    if (!returned) throw invalidAt(execution, past.state.records - 1, "the value of the program is not JSON");
    const checked = result && (await checkResult(body, result, limits.inputBytes, share.lane));
    if (checked?.ok === false)
      throw new PortcullisError(
        "option_invalid",
        `The value of execution ${JSON.stringify(execution)} fitted its \`result\` when it ended, and does not now. ${checked.fault.message}`,
      );
    return undriven(scope, execution, past, {
      type: "completed",
      ...returned,
      text: body,
      ...(checked && { checked }),
    });
  } finally {
    share.end();
  }
}
