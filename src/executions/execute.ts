import { randomUUID } from "node:crypto";
import { headerBase } from "../gate/header-base.ts";
import { type ExecutionId, PortcullisError } from "../base/index.ts";
import type { ProgramHeader } from "../journal/record.ts";
import type { ProgramCheck, ProgramToCheck } from "./check/check-program.ts";
import { driveExecution } from "./drive/drive-execution.ts";
import type { Execution } from "./execution.ts";
import type { Correction, Earlier } from "./from-journal/earlier-execution.ts";
import { withObservers } from "./observers.ts";
import { RUN_PROGRAM } from "../tools/tool-name.ts";
import { prepare, resultKinds } from "./prepare/prepare.ts";
import { recordOfResult, type ResultSchema } from "./drive/ending/result-schema.ts";
import type { Scope } from "./scope.ts";
import { TrackedLog } from "./from-journal/tracked-log.ts";
import { programVersions } from "./from-journal/changed-since.ts";

export interface ProgramToRun {
  /** A new id by default. */
  readonly execution?: ExecutionId | undefined;
  readonly result?: ResultSchema | undefined;
  readonly corrects?: Correction | undefined;
  readonly read?: typeof prepare;
}

/**
 * Runs a program from its source to its ending, or until it waits. Anything the program does results in an `Ending`.
 * Rejects only if the journal cannot be written, if the sandbox cannot open a guest, with `execution_exists`, or as
 * `findEarlier` does.
 */
export async function execute(
  scope: Scope,
  source: string,
  { execution = randomUUID(), result, corrects, read = prepare }: ProgramToRun,
): Promise<Execution> {
  const { gate, journal, language, leaseMs, tenant, signal } = scope;
  refuseReservedName(scope);
  return withObservers(scope, { execution, source }, async (span) => {
    const earlier = corrects && (await findEarlierOf(scope, corrects));
    const tools = gate.tools.visibleTo(["programmatic"]);
    const prepared = await read(source, language, { tenant, signal }, resultKinds(tools));
    if (!prepared.ok) return prepared;
    const { program, map } = prepared;
    const of = { execution, source, program, result, corrects, trace: span?.traceparent };
    const check = await checkOf(scope, { program, map, tools });
    const log = await TrackedLog.create(journal, programHeader(scope, of), { driver: randomUUID(), leaseMs });
    return {
      log,
      drive: () => driveExecution(scope, log, { spans: span, map, result, program, tools, earlier, check }),
    };
  });
}

/** The check runs beside the start of the engine. Loaded on demand: a host's own programs are not checked. */
async function checkOf(
  { checkPrograms = "off", language, signal, tenant }: Scope,
  checked: Omit<ProgramToCheck, "signal" | "tenant">,
): Promise<ProgramCheck | undefined> {
  if (checkPrograms === "off" || language !== "javascript" || checked.tools.length === 0) return undefined;
  const { programCheck } = await import("./check/check-program.ts");
  return programCheck(checkPrograms, { ...checked, signal, tenant });
}

/** Throws `tools_conflict` if programs are held for approval, and a tool has the name of these calls. */
export function refuseReservedName({ approvePrograms = false, gate }: Scope): void {
  if (approvePrograms && gate.tools.get(RUN_PROGRAM))
    throw new PortcullisError(
      "tools_conflict",
      `A tool is called "${RUN_PROGRAM}", a name that is reserved for the approval of programs: rename it, or leave out approvePrograms.`,
    );
}

export interface NewProgram {
  readonly execution: ExecutionId;
  readonly source: string;
  readonly program: string;
  readonly result: ResultSchema | undefined;
  readonly corrects: Correction | undefined;
  readonly trace: string | undefined;
}

export function programHeader(
  scope: Scope,
  { execution, source, program, result, corrects, trace }: NewProgram,
): ProgramHeader {
  const { gate, language, sandbox, approvePrograms = false } = scope;
  return {
    ...headerBase(execution, scope, gate.tools.visibleTo(["programmatic"]), programVersions(), trace),
    kind: "program",
    language,
    sandbox: sandbox.name,
    program,
    source,
    needsApproval: approvePrograms || undefined,
    corrects,
    ...(result && recordOfResult(result)),
  };
}

/** Loaded on demand: few programs correct another one. */
export async function findEarlierOf(scope: Scope, corrects: Correction): Promise<Earlier> {
  const { findEarlier } = await import("./from-journal/earlier-execution.ts");
  return findEarlier(scope, corrects);
}
