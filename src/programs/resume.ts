import { randomUUID } from "node:crypto";
import type { Language } from "../../bridge/frames.ts";
import { PortcullisError } from "../errors.ts";
import { rememberedIn, stillMeant } from "../gate/remembered.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import type { Header, ProgramHeader } from "../journal/record.ts";
import { changedTools, refuseChangedTools } from "./changed-tools.ts";
import { decide, openCallsOf, recordsOf, type Said } from "./decide.ts";
import { drivenHere, isDriven } from "./driven-here.ts";
import { driveExecution, type Execution, startFrame } from "./execute.ts";
import { limitsOf } from "./limits.ts";
import { type Past, readOwn, withoutOpenCalls } from "./past-execution.ts";
import { endPoisoned, isPoison } from "./poison.ts";
import { beginSpan, inSpan, traceOf } from "./program-span.ts";
import { refuseWrongResults } from "./refuse-results.ts";
import { prepare } from "./prepare/prepare.ts";
import { recordedResult, refuseOtherResult, type ResultSchema } from "./result-schema.ts";
import { shownExecution } from "./redact-execution.ts";
import type { Scope } from "./scope.ts";
import { TrackedLog } from "./tracked-log.ts";
import { endedExecution, undriven } from "./undriven.ts";
import { changedVersions } from "./versions.ts";
import { waitingOf } from "./waiting.ts";

export interface ResumeWork extends Said {
  /** Take the execution up although tools have changed or are gone. */
  readonly allowChangedTools?: boolean | undefined;
  /** What the program has to return, as the execution began. By default a plain schema is that of the journal. */
  readonly result?: ResultSchema | undefined;
  /** Drive an execution that only waits, and ask the scope's approver about its calls. */
  readonly asks?: boolean | undefined;
}

/**
 * Takes an execution up where its journal is, and drives it to its ending, or until it waits. One that has ended, or that
 * only waits, is reported without being driven. Rejects with `execution_unknown`, also for another tenant's execution,
 * `execution_driven`, `tools_changed`, `call_unknown`, `decision_exists`, `approval_expired`, and as the journal does.
 */
export async function resume(scope: Scope, execution: ExecutionId, work: ResumeWork): Promise<Execution> {
  return takeUp(scope, execution, await readOwn(scope, execution), work);
}

/** Like `resume`, for an execution that has been read. */
export async function takeUp(scope: Scope, execution: ExecutionId, past: Past, work: ResumeWork): Promise<Execution> {
  const header = past.state.header as ProgramHeader;
  const limits = limitsOf(header);
  const visible = new Set(header.tools.map(({ name }) => name));
  const known = scope.gate.tools.visibleTo(["programmatic"]).filter(({ name }) => visible.has(name));
  // The gate holds a program to the tools that it began with.
  const gate = scope.gate.beside(scope.gate.tools.select(known, "resume"));
  const changes = { gate, limits, language: header.language as Language };
  const own: Scope = scope.with?.(changes) ?? { ...scope, ...changes };
  refuseOtherResult(header, work.result, false);
  if (past.outcome) return shownExecution(await endedExecution(execution, past, own, work.result), own);
  refuseOfAnother(scope, execution, header);
  const findCall = openCallsOf(past.state);
  const records = recordsOf(findCall, header, work);
  const waiting = waitingOf(past.state);
  // An execution that cannot be replayed waits where it is driven. Without its driver it has ended.
  const canGoOn = past.state.unreplayable === undefined || isDriven(scope.journal, await scope.journal.find(execution));
  if (waiting && records.length === 0 && canGoOn && !work.asks)
    return shownExecution(undriven(own, execution, past, waiting), own);
  const tools = own.gate.tools.visibleTo(["programmatic"]);
  await refuseWrongResults(records, findCall, tools);
  const here = drivenHere<Execution>(scope.journal, execution);
  if (here) {
    if (records.length > 0) await decide(scope, execution, work);
    return here.ended;
  }
  const { result = recordedResult(header) } = work;
  refuseOtherResult(header, result, true);
  const differing = changedTools(known, header);
  if (!work.allowChangedTools) refuseChangedTools(differing);
  refuseLanguage(own, execution);
  // The driver of a conversation has taken over the programs in it, too.
  if (!scope.above) await refuseDriven(scope.journal, execution);

  const { language, tenant, signal, leaseMs, journal } = own;
  const prepared = await prepare(header.source, language, { tenant, signal }, visible);
  const map =
    prepared.ok && prepared.program === header.program
      ? prepared.map
      : {
          source: header.program,
          toSource: (position: { readonly line: number; readonly column: number }) => position,
        };
  const span = beginSpan(own, { execution, source: header.source, before: [header.trace, past.state.trace] });
  const driver = { driver: randomUUID(), leaseMs, ...traceOf(span) };
  const log = await TrackedLog.claim(journal, past.state, driver, records);
  if (isPoison(past.state)) return inSpan(span, () => endPoisoned(own, execution, past, log));
  const start = (now: number) => startFrame(now, own, header.program, known);
  const remembered = [...past.remembered, ...rememberedIn(records, (id) => past.state.calls.get(Number(id)))];
  const note = past.state.turns > 0 ? changedVersions(header) : undefined;
  const notes = note === undefined ? [] : [note];
  return driveExecution(own, log, {
    notes,
    map,
    result,
    start,
    span,
    past: withoutOpenCalls({ ...past, remembered: stillMeant(remembered, differing.changed) }),
  });
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
    `Execution ${JSON.stringify(execution)} is call ${parent.call} of ${JSON.stringify(parent.execution)}, and goes on with it: resume that one.`,
  );
}

function refuseLanguage({ sandbox, language }: Scope, execution: ExecutionId): void {
  if (sandbox.languages.includes(language)) return;
  throw new PortcullisError(
    "sandbox_unavailable",
    `Execution ${JSON.stringify(execution)} is in ${JSON.stringify(language)}, and the ${sandbox.name} sandbox runs ${sandbox.languages.join(" and ")}. Take it up with a sandbox that runs its language.`,
  );
}

/** Rejects with `execution_driven` while a driver holds the lease. */
export async function refuseDriven(journal: Journal, execution: ExecutionId): Promise<void> {
  const { lease } = await journal.find(execution);
  if (!lease || lease.until <= Date.now()) return;
  throw new PortcullisError(
    "execution_driven",
    `Execution ${JSON.stringify(execution)} is driven by another process until ${new Date(lease.until).toISOString()}. Decisions reach it by \`decide\`.`,
  );
}
