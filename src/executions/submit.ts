/*
 * Submits a program: stores the header of its execution, without a driver, so that a worker of the fleet takes it up.
 */
import { now, PortcullisError } from "../base/index.ts";
import { type NewProgram, findEarlierOf, programHeader, refuseReservedName } from "./execute.ts";
import type { Ending } from "./outcome.ts";
import { prepare, givenByTools } from "./prepare/prepare.ts";
import { tooLargeText } from "./prepare/refuse-text.ts";
import { sameProgram } from "./resume.ts";
import { refuseOther } from "./run-under-id.ts";
import type { Scope } from "./scope.ts";

export type Submitted = Pick<NewProgram, "execution" | "result" | "after">;

/**
 * Resolves once the header of the execution is in the journal. A program that cannot be run, and corrects none, has ended then, as `failed`.
 * The same program again under the same id changes nothing. Rejects with `execution_exists` for another one, with
 * `program_too_large` for a text that no journal is to keep, as `findEarlier` does, and as the journal does.
 */
export async function submit(scope: Scope, source: string, { execution, result, after }: Submitted): Promise<void> {
  const { gate, journal, language, tenant, signal, telemetry } = scope;
  refuseReservedName(scope);
  const tooLarge = tooLargeText(source);
  if (tooLarge) throw new PortcullisError("program_too_large", tooLarge.message);
  signal.throwIfAborted();
  // The worker finds it again. What cannot be gone on from is refused here.
  if (after) await findEarlierOf(scope, after);
  const tools = gate.tools.visibleTo(["programmatic"]);
  const prepared = await prepare(source, language, { tenant, signal }, givenByTools(tools));
  signal.throwIfAborted();
  const program = prepared.ok ? prepared.program : source;
  const header = programHeader(scope, { execution, source, program, result, after, trace: telemetry?.here });
  try {
    const head = await journal.create(header);
    // The worker takes over what the execution before has changed, also for a program that cannot be run.
    if (prepared.ok || after) return;
    const ending: Ending = { type: "failed", fault: prepared.fault };
    await journal.append(execution, head, [{ type: "outcome", outcome: JSON.stringify(ending), at: now() }]);
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    // A worker was faster, and finds the same fault.
    if (error.code === "head_moved") return;
    if (error.code !== "execution_exists") throw error;
    await refuseOther(scope, sameProgram(scope, source, { execution, result, after }));
  }
}
