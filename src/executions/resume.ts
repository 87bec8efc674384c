/*
 * Takes up a program that waits, or whose host died. Its id comes in, with the caller's decisions and results; it is
 * read from the journal, claimed and driven on, and what it ended with goes out.
 */
import { randomUUID } from "node:crypto";
import { type ExecutionId, PortcullisError } from "../base/index.ts";
import { rememberedIn } from "../gate/approve/remembered.ts";
import type { Header, ProgramHeader } from "../journal/record.ts";
import { changedTools, refuseChangedTools } from "./from-journal/changed-since.ts";
import { decidableOf, decide, recordsOf, type DecisionInput, refuseWrongResults } from "./decide.ts";
import { drivenHere, executionDriven, isDriven, refuseDriven } from "./driven.ts";
import { drivenScope } from "./authority.ts";
import { driveExecution } from "./drive/drive-execution.ts";
import { execute, type ProgramToRun, findEarlierOf } from "./execute.ts";
import type { Correction } from "./from-journal/earlier-execution.ts";
import { runUnderId, type WorkUnderId } from "./run-under-id.ts";
import type { Execution } from "./execution.ts";
import type { Position } from "./guest/source-lines.ts";
import { limitsOf } from "./limits.ts";
import { callOfId } from "./from-journal/execution-state.ts";
import { type Past, readOwn, withoutOpenCalls } from "./from-journal/past-execution.ts";
import { endAsDeadly, killsItsDrivers } from "./drive/ending/end-without-running.ts";
import { withObservers, traceOf } from "./observers.ts";
import { prepare, resultKinds } from "./prepare/prepare.ts";
import { recordedResult, refuseOtherResult, type ResultSchema } from "./drive/ending/result-schema.ts";
import type { Scope } from "./scope.ts";
import { TrackedLog } from "./from-journal/tracked-log.ts";
import { standingOf } from "./from-journal/standing.ts";
import { endedExecution, waitingExecution } from "./from-journal/recorded-execution.ts";

export interface ResumeWork extends DecisionInput {
  /** Take the execution up although tools have changed or are gone. */
  readonly allowChangedTools?: boolean | undefined;
  /** If this process drives it already, join that driver; true by default. Otherwise rejects with `execution_driven`. */
  readonly joins?: boolean | undefined;
  /** What the program has to return, as the execution began. By default a plain schema is taken from the journal. */
  readonly result?: ResultSchema | undefined;
  /** Drive an execution that only waits, and ask the scope's approver about its calls. */
  readonly asks?: boolean | undefined;
  /** The caller has found that no driver has it, and that it does not only wait. A claim since then has moved its head. */
  readonly isFree?: boolean | undefined;
}

/**
 * Takes an execution up where its journal ends, and drives it to its ending, or until it waits. An execution that has
 * ended, or that only waits, is reported without being driven. Rejects with `execution_unknown`, also for another
 * tenant's execution, `execution_driven`, `tools_changed`, `call_unknown`, `decision_exists`, `approval_expired`, and
 * as the journal does.
 */
export async function resume(scope: Scope, execution: ExecutionId, work: ResumeWork): Promise<Execution> {
  return resumeRead(scope, execution, await readOwn(scope, execution), work);
}

/** Like `resume`, for an execution that has been read. */
export async function resumeRead(
  scope: Scope,
  execution: ExecutionId,
  past: Past,
  work: ResumeWork,
): Promise<Execution> {
  const header = past.state.header as ProgramHeader;
  const shown: Scope = { ...scope, limits: limitsOf(header) };
  refuseOtherResult(header, work.result, false);
  if (past.outcome) return endedExecution(shown, past, work.result);
  refuseOfAnother(scope, execution, header);
  const about = decidableOf(past, header);
  const records = await recordsOf(about, work);
  if (records.length === 0 && !work.asks && !work.isFree) {
    const driven = isDriven(scope.journal, await scope.journal.find(execution));
    const waiting = await waitingExecution(shown, past, standingOf(past.state, driven));
    if (waiting) return waiting;
  }
  await refuseWrongResults(records, about.find, scope.gate.tools.visibleTo(["programmatic"]));
  const here = drivenHere<Execution>(scope.journal, execution);
  if (here && work.joins === false) throw executionDriven(execution, "by this process");
  if (here) {
    if (records.length > 0) await decide(scope, execution, work);
    return here.ended;
  }
  const { result = recordedResult(header) } = work;
  refuseOtherResult(header, result, true);
  if (!work.allowChangedTools) refuseChangedTools(changedTools(scope.hostTools ?? scope.gate.tools, header));
  const own = drivenScope(scope, header);
  const tools = own.gate.tools.visibleTo(["programmatic"]);
  refuseLanguage(own, execution);
  // The driver of a conversation has taken over the programs in it, too.
  if (!scope.above && !work.isFree) await refuseDriven(scope.journal, execution);

  const earlier = header.corrects && (await findEarlierOf(own, header.corrects));
  const { language, tenant, signal, leaseMs, journal } = own;
  const prepared = await prepare(header.source, language, { tenant, signal }, resultKinds(tools));
  const map =
    prepared.ok && prepared.program === header.program
      ? prepared.map
      : { source: header.program, toSource: (position: Position) => position };
  const spanned = { execution, source: header.source, before: [header.trace, past.state.trace] };
  return withObservers(own, spanned, async (span) => {
    const driver = { driver: randomUUID(), leaseMs, ...traceOf(span) };
    const log = await TrackedLog.claim(journal, past.state, driver, records);
    if (killsItsDrivers(past.state)) return { log, drive: () => endAsDeadly(own, past, log) };
    const remembered = [...past.remembered, ...rememberedIn(records, (id) => callOfId(past.state, id), header.tools)];
    const driven = {
      spans: span,
      map,
      result,
      program: header.program,
      tools,
      past: withoutOpenCalls({ ...past, remembered }),
      earlier,
    };
    return { log, drive: () => driveExecution(own, log, driven) };
  });
}

/**
 * Runs a program under an id of the caller's choice. The same id again joins the execution that runs here, goes on with
 * the execution if its host died, or gives its report if it has ended or waits. Rejects with `execution_exists` for
 * another program, language, result, `corrects` or tenant under the id, and as `execute` and `resume` do.
 */
export function executeOnce(
  scope: Scope,
  source: string,
  execution: ExecutionId,
  {
    corrects,
    ...work
  }: Pick<ResumeWork, "allowChangedTools" | "asks" | "result"> & { readonly corrects?: Correction | undefined },
): Promise<Execution> {
  return runUnderId<Execution>(scope, {
    ...sameProgram(scope, source, { execution, result: work.result, corrects }),
    begin: async () => {
      const ended = await execute(scope, source, { execution, result: work.result, corrects });
      return async () => ended;
    },
    goOn: () => resume(scope, execution, work),
  });
}

export function sameProgram(
  { language }: Pick<Scope, "language">,
  source: string,
  { execution, result, corrects }: Pick<ProgramToRun, "result" | "corrects"> & { readonly execution: ExecutionId },
): Pick<WorkUnderId<Execution>, "execution" | "what" | "text" | "isSame"> {
  return {
    execution,
    what: "program, language, result, `corrects` or tenant",
    text: source,
    isSame: (header, isText) =>
      header.kind === "program" &&
      header.language === language &&
      isText(header.source) &&
      header.result === result?.digest &&
      header.corrects?.execution === corrects?.execution,
  };
}

/** An execution that a call has started is taken up with its caller, which needs its result. */
export function refuseOfAnother(
  { above }: Pick<Scope, "above">,
  execution: ExecutionId,
  { parent }: Pick<Header, "parent">,
): void {
  if (parent === undefined || (parent.execution === above?.execution && parent.call === above.callId)) return;
  throw new PortcullisError(
    "option_invalid",
    `Execution ${JSON.stringify(execution)} is call ${parent.call} of ${JSON.stringify(parent.execution)}, and continues with it: resume that execution.`,
  );
}

function refuseLanguage({ sandbox, language }: Scope, execution: ExecutionId): void {
  if (sandbox.languages.includes(language)) return;
  throw new PortcullisError(
    "sandbox_unavailable",
    `Execution ${JSON.stringify(execution)} is in ${JSON.stringify(language)}, and the ${sandbox.name} sandbox runs ${sandbox.languages.join(" and ")}. Take it up with a sandbox that runs its language.`,
  );
}
