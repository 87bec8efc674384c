/*
 * Submits a program: stores the header of its execution, without a driver, so that a worker of the fleet takes it up.
 */
import { PortcullisError } from "../errors.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { ResultSchema } from "./drive/result-schema.ts";
import { programHeader, refuseReservedName } from "./execute.ts";
import type { Ending } from "./outcome.ts";
import { prepare, givenByTools } from "./prepare/prepare.ts";
import { sameProgram } from "./resume.ts";
import { refuseOther } from "./run-under-id.ts";
import type { Scope } from "./scope.ts";

/**
 * Resolves once the header of the execution is in the journal. A program that cannot be run has ended then, as `failed`.
 * The same program again under the same id changes nothing. Rejects with `execution_exists` for another one, and as the
 * journal does.
 */
export async function submit(
  scope: Scope,
  source: string,
  execution: ExecutionId,
  result: ResultSchema | undefined,
): Promise<void> {
  const { gate, journal, language, tenant, signal, telemetry } = scope;
  refuseReservedName(scope);
  signal.throwIfAborted();
  const tools = gate.tools.visibleTo(["programmatic"]);
  const prepared = await prepare(source, language, { tenant, signal }, givenByTools(tools));
  signal.throwIfAborted();
  const program = prepared.ok ? prepared.program : source;
  const header = programHeader(scope, { execution, source, program, result, trace: telemetry?.here });
  try {
    const head = await journal.create(header);
    if (prepared.ok) return;
    const ending: Ending = { type: "failed", fault: prepared.fault };
    await journal.append(execution, head, [{ type: "outcome", outcome: JSON.stringify(ending), at: Date.now() }]);
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    // A worker was faster, and finds the same fault.
    if (error.code === "head_moved") return;
    if (error.code !== "execution_exists") throw error;
    await refuseOther(scope, sameProgram(scope, source, execution, result));
  }
}
