import PQueue from "p-queue";
import { after, now, ignore } from "../../base/index.ts";
import { findIfKnown, ifKnown } from "../../journal/find-if-known.ts";
import { NO_ITEMS } from "../../journal/reading/read-records.ts";
import type { CallResult, ModelCall, ProgramCall, ToolCall } from "../../models/model.ts";
import { reportOf } from "../../executions/output/report.ts";
import { correctedBy } from "../../executions/execute-options.ts";
import type { KnownCall } from "../../executions/from-journal/call-history.ts";
import { type Correction, isReadable } from "../../executions/from-journal/earlier-execution.ts";
import { readOwn } from "../../executions/from-journal/past-execution.ts";
import { standingOf } from "../../executions/from-journal/standing.ts";
import type { Unreplayable, Waiting } from "../../executions/outcome.ts";
import { shownWaiting } from "../../executions/redact-execution.ts";
import { executeOnce } from "../../executions/resume.ts";
import { RUN_PROGRAM, SEARCH_TOOLS } from "../../tools/tool-name.ts";
import type { ToolSet } from "../../tools/tool-set.ts";
import type { AgentScope } from "../agent-scope.ts";
import { checkOwned, type Sending } from "../drive/ask-model.ts";
import { unansweredText } from "../drive/interruption.ts";
import type { LiveConversation } from "../drive/live-conversation.ts";
import { standingOfConversation } from "../from-journal/past-conversation.ts";
import { refusal, resultOfAnswer, resultOfReport, withFound } from "./call-result.ts";
import { childExecution } from "./child-execution.ts";
import type { FailedProgram } from "./failed-programs.ts";
import { NO_SOURCE } from "./run-program.ts";

/** A call of the turn that has no result yet. */
interface Pending {
  readonly call: ModelCall;
  readonly overlaps: boolean;
  /** Gives its place in the order up. */
  leave: () => void;
  /** Why its program, which waits in its sandbox, cannot be put down. */
  held?: Unreplayable;
  /** Its program was put down, and waits. */
  waits?: boolean;
  /** Its program was counted as a call: a program that goes on after a wait is counted once. */
  isCounted?: boolean;
}

interface AnsweredTurn extends Sending {
  readonly pending: Map<string, Pending>;
  /**
   * Calls that may write, and programs, run one after the other in the order of the turn. A call that waits for a
   * decision or a result gives its place up. The gate limits how many other calls run at once.
   */
  readonly inOrder: PQueue;
  /** Looks again whether all calls wait. */
  wake: () => void;
  isOver: boolean;
}

/**
 * Answers the calls of a model's turn, each exactly once. Resolves once all have a result, or with what the calls without a
 * result wait for.
 */
export async function answerCalls(sending: Sending, calls: readonly ModelCall[]): Promise<Waiting | undefined> {
  const { live, scope, session } = sending;
  const pending = new Map<string, Pending>();
  const turn: AnsweredTurn = {
    ...sending,
    pending,
    inOrder: new PQueue({ concurrency: 1 }),
    wake: () => {},
    isOver: false,
  };
  const failed = Promise.withResolvers<never>();
  // The rejection may come after the calls were answered.
  failed.promise.catch(ignore);
  const begin = (one: Pending) => void beginCall(turn, one).catch(failed.reject);
  const isIdle = () => pending.values().every((one) => one.waits || one.held || session.waitsFor(one.call.id));
  session.onWaiting = (callId) => {
    pending.get(callId)?.leave();
    turn.wake();
  };
  for (const call of calls) {
    const overlaps = await mayOverlap(sending, call);
    pending.set(call.id, { call, overlaps, leave: () => {} });
  }
  for (const one of pending.values()) begin(one);
  while (pending.size > 0) {
    // Before the journal is read: what changes meanwhile is looked at again.
    const changed = Promise.withResolvers<void>();
    turn.wake = changed.resolve;
    if (isIdle()) {
      const { waiting, isProgramWaiting } = await waitingOf(turn);
      if (waiting && isIdle()) {
        const held = pending.values().find((one) => one.held)?.held;
        turn.isOver = held === undefined;
        if (turn.isOver) return waiting;
        // Programs that cannot be put down wait in their sandboxes.
        scope.onEvent({ type: "conversation_waiting", execution: live.execution, waiting, held });
      }
      for (const one of pending.values()) {
        if (!one.waits || isProgramWaiting(one.call.id)) continue;
        one.waits = false;
        begin(one);
      }
    }
    // A call that can go on says so, for instance because its time to wait is over. Reading on would keep its timer
    // from running.
    await Promise.race([changed.promise, failed.promise]);
  }
  return undefined;
}

/** What all calls wait for, as the journal tells it; undefined if a call can go on. */
async function waitingOf({ live, scope }: Sending) {
  const past = await live.read();
  const standing = standingOfConversation(past);
  return {
    waiting: standing.state === "waiting" ? await shownWaiting(standing.waiting, scope.redactor) : undefined,
    isProgramWaiting: (callId: string) => {
      const { program, driven = false } = past.open.get(callId) ?? {};
      return program !== undefined && standingOf(program.state, driven).state === "waiting";
    },
  };
}

/** A hosted program decides itself which calls it makes at once. What a call changes may depend on its input. */
async function mayOverlap({ scope, session }: Sending, call: ModelCall): Promise<boolean> {
  if (call.type === "program_call") return false;
  const tool = scope.gate.tools.get(call.tool);
  if (call.caller !== "direct" || !tool) return true;
  return (tool.effectOf ? await session.effectOf(call) : tool.effect) === "read";
}

async function beginCall(turn: AnsweredTurn, one: Pending): Promise<void> {
  if (one.overlaps) return answer(turn, one);
  await turn.inOrder.add(async () => {
    const exit = Promise.withResolvers<void>();
    one.leave = exit.resolve;
    await Promise.race([answer(turn, one), exit.promise]);
  });
}

/** A program that was put down to wait has no result. */
async function answer(turn: AnsweredTurn, one: Pending): Promise<void> {
  const { call } = one;
  const result = await (call.type === "program_call" ? runProgram(turn, one, call) : callTool(turn, call));
  if (turn.isOver) return;
  checkOwned(turn.scope.signal);
  if (result) {
    turn.pending.delete(call.id);
    turn.live.takeResult(result);
  } else one.waits = true;
  turn.wake();
}

async function callTool(sending: Sending, call: ToolCall): Promise<CallResult> {
  const { live, scope, session } = sending;
  const { id: callId, tool, caller, inputText, answerBy, forbidden } = call;
  if (forbidden !== undefined) return refuseCall(live, call, forbidden);
  if (caller === "unknown")
    return refuseCall(live, call, "The caller of this call is of an unknown kind, so the call was refused.");
  const late = `The call of ${tool} took longer than the provider of the program waits, and was cancelled.`;
  // Only journalling can fail here, and the call itself reports that error.
  let isLate = false;
  const giveUp = () => {
    isLate = true;
    void session.giveUp(callId, late).catch(ignore);
  };
  using _ = answerBy === undefined ? undefined : after(answerBy - now(), giveUp);
  // What the journal says of it, if another driver has left it open.
  const past = { ...live.state.open.get(callId) };
  const answered = await session.call({ callId, tool, caller, inputText }, past);
  if (!answered) return refusal(call, isLate ? `TimeoutError: ${late}` : unansweredText(scope.signal));
  const ways = { ...live.resultWays(session.share.lane), source: scope.gate.tools.get(tool)?.source };
  const result = await resultOfAnswer(call, answered, ways);
  return tool === SEARCH_TOOLS ? withFound(result, answered, live.opening.deferred) : result;
}

/** Journals a call that the gate cannot decide: its caller is unknown, or its turn did not allow it. */
async function refuseCall({ log }: LiveConversation, call: ToolCall, why: string): Promise<CallResult> {
  const { id, tool, caller } = call;
  const decision = { decision: "refused", code: "caller_not_allowed", at: now() } as const;
  await log.append({ type: "call", call: id, tool, caller, ...decision });
  return refusal(call, why);
}

async function runProgram(turn: AnsweredTurn, one: Pending, call: ProgramCall): Promise<CallResult | undefined> {
  const { live, session } = turn;
  if (call.forbidden !== undefined) return refusal(call, call.forbidden);
  if (live.request.programs !== "local") return refusal(call, "Programs cannot be run in this conversation.");
  if (call.source === undefined) return refusal(call, NO_SOURCE);
  if (!one.isCounted) {
    one.isCounted = true;
    const refused = await session.countCall({ callId: call.id, tool: RUN_PROGRAM, caller: "direct" });
    if (refused && !refused.ok) return refusal(call, refused.message);
  }
  return executeCall(turn, one, { ...call, source: call.source });
}

async function executeCall(
  turn: AnsweredTurn,
  one: Pending,
  call: ProgramCall & { readonly source: string },
): Promise<CallResult | undefined> {
  const { live, scope: outer, session, span } = turn;
  const { execution, parts, artifacts: space, failed, request } = live;
  const { allowChangedTools, asks } = parts;
  const { above: caller, journal, gate, observed, telemetry, redactor, onEvent: tell } = outer;
  const { id: callId, source } = call;
  tell({ type: "program_started", execution, callId, source, hosted: false });
  // The call of an agent that is a tool cannot wait: its caller would have to.
  const above = { session, execution, callId, used: failed.used, canWait: caller === undefined };
  const child = childExecution(execution, callId);
  const onEvent: AgentScope["onEvent"] = (event) => {
    tell(event);
    if (event.type !== "execution_waiting" || event.held === undefined || event.execution !== child) return;
    // It waits in its sandbox: others take its place in the order.
    one.held = event.held;
    one.leave();
    turn.wake();
  };
  const scope = { ...outer, onEvent, above, artifacts: { space, prefix: `${callId}/` } };
  const startedAt = now();
  const place = live.state.turns.length - 1;
  const corrects = await correctedByCall(turn, callId, place);
  const run = () => executeOnce(scope, source, child, { allowChangedTools, asks, corrects });
  const { kept, ending, ...ended } = await (span ? span.run(run) : run());
  // A program that was refused before it started is not in the journal, and corrects nothing.
  if (kept) failed.begin(callId, corrects);
  if (ending.type === "waiting") return undefined;
  const isCompleted = ending.type === "completed";
  // A journal in memory may have deleted it as soon as it ended.
  const isKnown = kept && !isCompleted && (await findIfKnown(journal, child)) !== undefined;
  if (kept && !isCompleted) failed.fail(callId, isKnown ? { execution: child, startedAt, turn: place } : undefined);
  const corrected = corrects && isCompleted && (await ifKnown(() => readOwn(outer, child, NO_ITEMS)));
  if (corrected) failed.note(callId, corrected);
  const isGivenAgain = isKnown && request.reuseResults !== "never";
  const report = reportOf({ kept, ending, ...ended }, gate.tools, { isGivenAgain, shown: observed?.shown });
  const { outcome, output, usage } = report;
  telemetry?.noteOutput(usage.bytesOut);
  tell({ type: "program_ended", execution, callId, outcome, isError: output.isError, hosted: false });
  const about = { to: "model", tool: RUN_PROGRAM, callId } as const;
  const by = ended.approvedBy;
  const approvedBy = redactor && by !== undefined ? (await redactor.text(by, about)).text : by;
  return resultOfReport(call, { report, approvedBy });
}

/** The programs that the program of a call corrects. What was read is given again of the last one alone. */
async function correctedByCall(
  { live, scope }: Sending,
  callId: string,
  turn: number,
): Promise<Correction | undefined> {
  const { failed, request, state } = live;
  if (failed.corrected.has(callId)) return failed.corrected.get(callId);
  const corrected: FailedProgram[] = [];
  for (const one of request.reuseResults === "never" ? [] : failed.before(turn))
    if (await isReadable(scope, one.execution)) corrected.push(one);
    else failed.forget(one.execution);
  const last = corrected.pop();
  if (!last) return undefined;
  const hasChanged = last.isOld || changedSince(state.calls.all, scope.gate.tools, last.startedAt);
  const corrects = correctedBy({ corrects: last.execution, maxAgeMs: hasChanged ? 0 : undefined });
  const besides = corrected.map(({ execution }) => execution);
  return corrects && { ...corrects, ...(besides.length > 0 && { besides }) };
}

/** Whether the model itself has changed something since: what was read before may be otherwise now. */
function changedSince(calls: readonly KnownCall[], tools: ToolSet, since: number): boolean {
  return calls.some(
    ({ tool, started, effect, at }) =>
      started && at >= since && (effect ?? tools.get(tool)?.effect ?? "write") !== "read",
  );
}
