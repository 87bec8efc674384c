import { ignore, now } from "../../base/index.ts";
import type { GateSession, SessionOptions } from "../../gate/session.ts";
import type { ArtifactPlace } from "../../gate/artifacts/session-artifacts.ts";
import type { EarlierCalls } from "../../gate/reuse/earlier-calls.ts";
import { UnreadAnswers } from "../../gate/run/unread-answers.ts";
import { ArtifactSpace } from "../../journal/artifact-space.ts";
import { leavesOpen } from "../../journal/execution-log.ts";
import type { OutcomeRecord } from "../../journal/record.ts";
import { type DriveResult, type Execution, NOT_DRIVEN } from "../execution.ts";
import { heldAllowance } from "../limits.ts";
import type { Ending } from "../outcome.ts";
import { approverOfProgram, type ExecutionState, usageBy, usedBy } from "../from-journal/execution-state.ts";
import type { Past } from "../from-journal/past-execution.ts";
import type { TrackedLog } from "../from-journal/tracked-log.ts";
import type { Scope } from "../scope.ts";
import { Driver, type Work } from "./drive.ts";
import { keepLarger, type KeptLarger } from "./ending/keep-value.ts";

/** Drives an execution to its ending, or until it waits. Rejects if the journal or the sandbox fails, or if another driver has taken it over. */
export async function driveExecution(scope: Scope, log: TrackedLog, work: Work): Promise<Execution> {
  const { execution } = log;
  const { limits, artifacts, journal, redactor } = scope;
  const share = scope.gate.held.share(scope.tenant, heldAllowance(limits, log.isDurable));
  const place = artifacts ?? { space: new ArtifactSpace(journal, execution, work.past?.artifacts, log), prefix: "" };
  const session = openSession(scope, log, work, { share, artifacts: place });
  let driven: DriveResult;
  let kept: KeptLarger;
  try {
    const ending = await takeOver(scope, log, work, place, session);
    driven = ending
      ? { ...NOT_DRIVEN, ...usedBy(log.state), ending }
      : await new Driver(scope, log, session, work).run();
    kept = await keepLarger(driven, { place, limits, lane: share.lane, redactor });
  } catch (error) {
    await leaveFailed(log, session, error);
    throw error;
  } finally {
    share.end();
  }
  await session.ended;
  await log.end(driven.ending.type === "waiting" ? undefined : outcomeRecord(driven));
  return {
    execution,
    limits,
    calls: [...session.ledger.lines],
    resultBytes: session.usage.resultBytes + session.ledger.streamedBytes,
    approvedBy: approverOfProgram(log.state),
    kept: { place, ...kept },
    ...driven,
  };
}

function openSession(
  scope: Scope,
  log: TrackedLog,
  { past, spans, earlier }: Work,
  parts: Pick<SessionOptions, "share" | "artifacts">,
): GateSession {
  const { gate, language, limits, above, onEvent } = scope;
  const session = gate.open({
    ...parts,
    execution: log.execution,
    scope,
    callers: ["programmatic"],
    language,
    limits,
    above,
    canWait: above?.canWait ?? true,
    unread: new UnreadAnswers(),
    past,
    startedAt: log.state.header?.startedAt,
    earlier: earlier?.calls,
    log,
    spans,
    onEvent,
  });
  log.onForeign = (records) => session.take(records);
  return session;
}

/**
 * Reads the executions that the program corrects, and takes over what they have changed and kept, as far as that was not done: the
 * journal has all that the program can load, and that another one must not do again. Closes the session and resolves with
 * the ending if there is no room for it.
 */
async function takeOver(
  { artifacts }: Scope,
  log: TrackedLog,
  { earlier, past }: Work,
  { space }: ArtifactPlace,
  session: GateSession,
): Promise<Ending | undefined> {
  if (!earlier) return undefined;
  const overdraft = await earlier.read(session.share);
  if (overdraft) {
    session.close();
    return { type: "stopped", ...overdraft };
  }
  restore(earlier.calls, past, log.state);
  await earlier.handOver(log);
  if (!artifacts) await earlier.handArtifactsOver(space);
  return undefined;
}

/** What earlier drivers have used of the execution before, and changed, does not stand for a call again. */
function restore(earlier: EarlierCalls, past: Past | undefined, { calls, header }: ExecutionState): void {
  const begun = [...calls.values()].map(({ tool, started = false, effect }) => ({ tool, started, effect }));
  const { standIns = [], lines = [] } = past ?? {};
  const effects = new Map(header?.tools.map(({ name, effect }) => [name, effect]));
  earlier.restore({ standIns, lines: [...lines, ...begun] }, (tool) => effects.get(tool) ?? "read");
}

async function leaveFailed(log: TrackedLog, session: GateSession, error: unknown): Promise<void> {
  // The next driver of the execution, or of its conversation, continues it.
  if (leavesOpen(error)) return log.leave(error);
  await session.ended.catch(ignore);
  // An execution that was taken up and could not continue here may continue elsewhere. A new execution without an
  // outcome would seem to run for ever.
  const ending: Ending = { type: "crashed", code: "engine_died", detail: String(error) };
  const outcome = { type: "outcome", outcome: outcomeText(ending), at: now() } as const;
  // Its reader is told of the failure that came first.
  await log.end(log.state.drivers.isTakenUp ? undefined : outcome).catch(ignore);
}

function outcomeRecord({ ending, notes, ...driven }: DriveResult): OutcomeRecord {
  return {
    type: "outcome",
    outcome: outcomeText(ending),
    notes: notes.length === 0 ? undefined : notes,
    usage: { ...usageBy((name) => driven[name]) },
    at: now(),
  };
}

/** The ending without the value, which is in the journal's last turn. */
function outcomeText(ending: Ending): string {
  return JSON.stringify(ending.type === "completed" ? { type: ending.type } : ending);
}
