/*
 * Drives a conversation: asks the model for a turn, has its calls answered, sends the results. A `LiveConversation` comes in; the
 * report with the ending at which it stops goes out.
 */
import { untilAborted } from "../../base/index.ts";
import type { WorkEnd } from "../../gate/telemetry/telemetry.ts";
import { leavesOpen } from "../../journal/execution-log.ts";
import { isWholeEnd, type ModelTurn } from "../../models/model.ts";
import { endingCancelled } from "../../executions/drive/ending/endings.ts";
import { whileDriven } from "../../executions/driven.ts";
import { type AgentReport, agentReport } from "../agent-report.ts";
import { answerCalls } from "../calls/answer-calls.ts";
import { refusal } from "../calls/call-result.ts";
import type { AgentEnding } from "../event.ts";
import { type KeptTurn, messagesOfSend, turnsOfSend, transcriptTurns } from "../from-journal/conversation-state.ts";
import { cancelPrograms } from "../from-journal/past-conversation.ts";
import { checkAnswer, type CheckedAnswer } from "../prompt/answer-schema.ts";
import { ROLES } from "../prompt/programs-option.ts";
import { isNoticed } from "../prompt/said-message.ts";
import {
  askModel,
  cancelledEnding,
  checkOwned,
  type Sending,
  tokensSpent,
  endingOfBadTurn,
  findRepetition,
  mendable,
  noticeOf,
  stuckEnding,
  stuckText,
} from "./ask-model.ts";
import { isInterruption, unansweredText } from "./interruption.ts";
import type { LiveConversation } from "./live-conversation.ts";

export interface ConversationDrive {
  readonly interrupt?: AbortSignal;
  /** The driver keeps the conversation after an ending, for what the user says next. */
  readonly keeps?: boolean;
  /** A failure of the host leaves the conversation open, for the next driver. */
  readonly staysOpen?: boolean;
}

/** Drives a conversation until it ends or waits. Rejects if the journal or the sandbox fails, or it is taken over. */
export function driveConversation<Answer = string>(
  live: LiveConversation,
  driving: ConversationDrive = {},
): Promise<AgentReport<Answer>> {
  const { scope, log, execution, artifacts, parts } = live;
  const end = async (sending: Sending, ending: AgentEnding) => {
    // Nothing goes on with what a key has begun that holds no more.
    const type = ending.type === "waiting" ? "waiting" : parts.rests && !("code" in ending) ? "resting" : "ended";
    if (type === "waiting") leave(sending);
    else await close(sending);
    if (type === "resting") await live.rest(ending);
    if (type === "ended") await live.endWith(ending);
    else if (!driving.keeps) await log.end(false);
    scope.onEvent(
      ending.type === "waiting"
        ? { type: "conversation_waiting", execution, waiting: ending }
        : { type: type === "ended" ? "conversation_ended" : "conversation_resting", execution, ending },
    );
  };
  const drive = async (sending: Sending): Promise<readonly [AgentReport<Answer>, AgentEnding]> => {
    const { ending, value } = await untilEnding(sending);
    await end(sending, ending);
    const lines = [...sending.session.ledger.lines];
    return [agentReport<Answer>(live.state, { ending, lines, value, usage: live.usage, artifacts }), ending];
  };
  return whileDriven(scope.journal, log, sendingIn(live, driving, drive));
}

/** Asks for one turn, and leaves its calls open for the host to answer. An ending means that there is no turn. */
export function driveTurn(live: LiveConversation, interrupt: AbortSignal): Promise<ModelTurn | AgentEnding> {
  return sendingIn(live, { interrupt, keeps: true }, async (sending) => {
    const reply = await askModel(sending);
    if (reply.type === "turn") {
      await live.takeTurn(reply, true);
      if (live.openCalls.length === 0) await live.closeTurn();
    }
    await close(sending);
    return [reply, reply.type === "turn" ? undefined : reply];
  });
}

/** Runs the work of one driving, which gives a value and the ending, and leaves the conversation in order whatever comes of it. */
async function sendingIn<Value>(
  live: LiveConversation,
  { interrupt, keeps = false, staysOpen = keeps }: ConversationDrive,
  work: (sending: Sending) => Promise<readonly [Value, ending: AgentEnding | undefined]>,
): Promise<Value> {
  // When one of several calls makes the conversation reject, the other programs end too.
  const over = new AbortController();
  const { log } = live;
  const signal = AbortSignal.any([live.scope.signal, over.signal, interrupt ?? []].flat());
  log.onFenced = (error) => over.abort(error);
  const span = live.takeSpan();
  const drive = async () => {
    const sending = openSending(live, signal, span);
    const { session } = sending;
    // Leaves the calls open if another driver has taken the conversation over.
    const onAbort = () => (leavesOpen(signal.reason) ? session.suspend(signal.reason) : session.close());
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const [value, ending] = await work(sending);
      await span?.end(endOfConversation(ending));
      return value;
    } catch (error) {
      // It stays open if it may go on elsewhere: another driver has it, its developer holds it, or it was taken up and came no
      // further here. Otherwise the journal is not to show it as running.
      if (leavesOpen(error) || live.state.drivers.isTakenUp || staysOpen) {
        leave(sending, error instanceof Error ? error : undefined);
        await log.end(false);
      } else await live.breakOff(error);
      await span?.end({ outcome: "broken_off", code: "broken_off" });
      throw error;
    } finally {
      over.abort();
    }
  };
  return span ? span.run(drive) : drive();
}

function openSending(live: LiveConversation, signal: AbortSignal, span: Sending["span"]): Sending {
  const scope = { ...live.scope, signal, answering: () => live.model };
  const { log, execution, request, opening, use } = live;
  const { gate, language, limits, above, onEvent } = scope;
  const session = gate.open({
    execution,
    scope,
    ...ROLES[request.programs],
    language,
    deferred: (opening.deferred ?? []).flatMap(({ name }) => gate.tools.get(name) ?? []),
    limits,
    above,
    // The call of an agent that is a tool cannot wait: its caller would have to.
    canWait: above === undefined,
    past: use,
    startedAt: log.state.header.startedAt,
    maxTokens: request.maxTokens,
    log,
    spans: span,
    onEvent,
  });
  session.budget.takeTokens(live.usage);
  const sending: Sending = { live, scope, session, span, isAsking: true };
  session.isOwnerIdle = () => !sending.isAsking;
  log.onForeign = (records) => session.take(records);
  return sending;
}

/** Leaves what is open to others, or to the next `send`. */
function leave(sending: Sending, reason?: Error): void {
  sending.session.suspend(reason);
  noteUse(sending);
}

async function close(sending: Sending): Promise<void> {
  sending.session.close();
  await sending.session.ended;
  noteUse(sending);
}

function noteUse({ live, session }: Sending): void {
  live.log.onForeign = undefined;
  live.use = session.pastUse;
  live.usage = session.budget.tokenUsage;
}

/** Endings without a code: the model has answered, or the conversation goes on later. */
const GOOD: ReadonlySet<string> = new Set(["answered", "stopped", "waiting"]);

/** `ending` is missing after one turn alone, whose calls are for the host to answer. */
function endOfConversation(ending: AgentEnding | undefined): WorkEnd {
  if (!ending) return { outcome: "turn" };
  if (GOOD.has(ending.type)) return { outcome: ending.type };
  const code = ending.type === "provider_failed" ? ending.failure.code : ending.type;
  return { outcome: ending.type, code };
}

/** `value` is an answer that fits its schema. */
interface Ended {
  readonly ending: AgentEnding;
  readonly value?: unknown;
}

/** Asks for turns and answers their calls until there is an ending, or until only the outside brings it further. */
async function untilEnding(sending: Sending): Promise<Ended> {
  const { live, scope } = sending;
  for (;;) {
    let { open } = live;
    if (!open) {
      const reply = await askModel(sending);
      if (reply.type !== "turn") return { ending: reply };
      open = await live.takeTurn(reply);
    }
    const ended = hasBegun(live, open) ? undefined : await endingOf(sending, open);
    if (ended) {
      const why = isInterruption(scope.signal.reason)
        ? "It was not made, because the user interrupted."
        : `It was not made, because the conversation had ended (${ended.ending.type}).`;
      live.takeUnmade(live.openCalls.map((call) => refusal(call, why)));
      await live.closeTurn();
      if (await isMended(sending, open.turn, ended.ending)) continue;
      return ended;
    }
    const waiting = await answerCalls(sending, live.openCalls);
    if (waiting && !scope.signal.aborted) return { ending: waiting };
    if (waiting) await cancelOpen(sending);
    await live.closeTurn();
    const after = await endingAfterCalls(sending);
    if (after) return { ending: after };
  }
}

async function isMended({ live, scope, session }: Sending, { end }: ModelTurn, ending: AgentEnding): Promise<boolean> {
  const found = mendable(end, ending);
  const { request, state } = live;
  if (!found || request.notices === false || scope.signal.aborted || isNoticed(messagesOfSend(state), found.notice))
    return false;
  if (turnsOfSend(state).length >= request.maxTurns || session.budget.tokensLeft <= 0) return false;
  // A turn that does not count is taken out of what the model is sent.
  if (!isWholeEnd(end) && !(await live.conversation()).restore) return false;
  await live.say([noticeOf(found.notice, found.why)]);
  return true;
}

async function endingAfterCalls({ live, scope, session }: Sending): Promise<AgentEnding | undefined> {
  if (scope.signal.aborted) return undefined;
  const { state, request, execution } = live;
  const found = request.notices === false ? undefined : findRepetition(turnsOfSend(state));
  if (found && isNoticed(messagesOfSend(state), "stuck")) return stuckEnding(found);
  if (found) await live.say([noticeOf("stuck", stuckText(found))]);
  const usage = session.budget.tokenUsage;
  const stop = await request.stopWhen?.({ execution, turns: transcriptTurns(state.turns), usage });
  return stop ? { type: "stopped" } : undefined;
}

/** Whether calls of a turn were begun by another driver: then no limit ends the conversation before they have results. */
function hasBegun({ state, hasBegun: has }: LiveConversation, { results }: KeptTurn): boolean {
  return results.size > 0 || has || state.open.values().some(({ ruling }) => ruling !== undefined);
}

async function cancelOpen({ live, scope }: Sending): Promise<void> {
  const { signal } = scope;
  checkOwned(signal);
  const { execution } = live;
  const cancelled = await cancelPrograms(scope, await live.read());
  const ended = { outcome: endingCancelled(signal.reason), isError: true, hosted: false };
  for (const call of live.openCalls) {
    const { id: callId } = call;
    if (cancelled.has(callId)) scope.onEvent({ type: "program_ended", execution, callId, ...ended });
    live.takeResult(refusal(call, unansweredText(signal)));
  }
}

/** The ending, if there is one with this turn. The calls of the last turn are not made, because the model could not read their results. */
async function endingOf(sending: Sending, { turn: { end, text }, said }: KeptTurn): Promise<Ended | undefined> {
  const bad = endingOfBadTurn(end);
  if (bad) return { ending: bad };
  // The model answers the results of a hosted program, and has not read what the user said meanwhile.
  if (end.type === "answered" && !(await sending.live.holdsMessages()))
    return answered(sending, text, isNoticed(said, "wrap_up"));
  const reached = limitReached(sending);
  return reached && { ending: reached };
}

function limitReached({ live, scope, session }: Sending): AgentEnding | undefined {
  const {
    request: { maxTurns },
    state,
  } = live;
  if (scope.signal.aborted) return cancelledEnding(scope.signal);
  if (session.budget.tokensLeft <= 0) return tokensSpent(session.budget);
  return turnsOfSend(state).length >= maxTurns ? { type: "turns_spent", allowed: maxTurns } : undefined;
}

async function answered({ live, scope, session }: Sending, answer: string, wrappedUp: boolean): Promise<Ended> {
  const { answer: schema } = live.request;
  const { signal } = scope;
  const checking = schema && checkAnswer(answer, schema, session.share.lane);
  // A schema of the host's may wait for ever.
  const waiting = checking && untilAborted(checking, signal);
  const checked = await waiting?.catch<CheckedAnswer | undefined>(() => (signal.aborted ? undefined : checking));
  if (schema && !checked) return { ending: cancelledEnding(signal) };
  if (checked?.ok === false) return { ending: { type: "answer_invalid", answer, reason: checked.reason } };
  return { ending: { type: "answered", answer, ...(wrappedUp && { wrappedUp }) }, value: checked?.value };
}
