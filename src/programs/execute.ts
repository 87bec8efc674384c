import { randomUUID } from "node:crypto";
import { headerBase } from "../gate/header-base.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { leavesOpen } from "../journal/execution-log.ts";
import { PortcullisError } from "../errors.ts";
import { driveExecution } from "./drive/drive-execution.ts";
import { type Execution, NOT_DRIVEN } from "./execution.ts";
import { observed } from "./observers.ts";
import type { Ending, Fault } from "./outcome.ts";
import { CALLING_FUNCTIONS, RUN_PROGRAM } from "../tools/tool-name.ts";
import { prepare } from "./prepare/prepare.ts";
import { recordOfResult, type ResultSchema } from "./drive/result-schema.ts";
import type { Scope } from "./scope.ts";
import { TrackedLog } from "./from-journal/tracked-log.ts";
import { programVersions } from "./from-journal/changed-since.ts";

/**
 * Runs a program from its source to its ending, or until it waits. Anything the program does results in an `Ending`.
 * Rejects only if the journal cannot be written, if the sandbox cannot open a guest, or with `execution_exists`.
 */
export async function execute(
  scope: Scope,
  source: string,
  execution: ExecutionId = randomUUID(),
  result?: ResultSchema,
): Promise<Execution> {
  const { sandbox, gate, journal, language, leaseMs, tenant, signal, approvePrograms = false } = scope;
  if (approvePrograms && gate.tools.get(RUN_PROGRAM))
    throw new PortcullisError(
      "tools_conflict",
      `A tool is called "${RUN_PROGRAM}", a name that is reserved for the approval of programs: rename it, or leave out approvePrograms.`,
    );

  return observed(scope, { execution, source }, async (span) => {
    const tools = gate.tools.visibleTo(["programmatic"]);
    const names = new Set([...tools.map(({ name }) => name), ...CALLING_FUNCTIONS.values()]);
    const prepared = await prepare(source, language, { tenant, signal }, names);
    if (!prepared.ok) return notStarted(scope, execution, prepared.fault);
    const { program, map } = prepared;
    const log = await TrackedLog.create(
      journal,
      {
        ...headerBase(execution, scope, tools, programVersions(), span?.traceparent),
        kind: "program",
        language,
        sandbox: sandbox.name,
        program,
        source,
        ...(approvePrograms ? { needsApproval: true } : {}),
        ...(result ? recordOfResult(result) : {}),
      },
      { driver: randomUUID(), leaseMs },
    );
    return { log, drive: () => driveExecution(scope, log, { spans: span, map, result, program, tools }) };
  });
}

/** The report of a program that cannot be run. Its journal has nothing yet, so a host that leaves its executions open throws instead. */
function notStarted({ limits, signal }: Scope, execution: ExecutionId, fault: Fault): Execution {
  if (signal.aborted && leavesOpen(signal.reason))
    throw new PortcullisError(
      "runtime_closed",
      "The runtime was suspended before the program had begun. Nothing was started: run it again.",
    );
  const ending: Ending = signal.aborted ? { type: "cancelled" } : { type: "failed", fault };
  return { execution, limits, ending, calls: [], resultBytes: 0, ...NOT_DRIVEN };
}
