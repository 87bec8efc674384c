/*
 * The loop of a conversation: asks the model for a turn, has its calls answered, sends the results. A
 * `LiveConversation` comes in; the ending at which the loop stops goes out.
 */
import type { GateSession } from "../../gate/session.ts";
import { leavesOpen } from "../../journal/execution-log.ts";
import { type CallResult, isWholeEnd, type ModelTurn } from "../../models/model.ts";
import { endingCancelled } from "../../executions/drive/ending/endings.ts";
import type { ConversationSpan } from "../../gate/telemetry/telemetry.ts";
import { type AgentReport, agentReport } from "../agent-report.ts";
import type { AgentScope } from "../agent-scope.ts";
import { checkAnswer, type CheckedAnswer } from "../prompt/answer-schema.ts";
import { CallAnswerer } from "../calls/answer-calls.ts";
import { refusal } from "../calls/call-result.ts";
import type { AgentEnding } from "../ending.ts";
import { untilAborted } from "../../base/index.ts";
import type { LiveConversation } from "./live-conversation.ts";
import { transcriptTurns } from "../from-journal/transcript.ts";
import { cancelledEnding, checkOwned, ModelAsker, tokensSpent } from "./ask-model.ts";
import { endingOfBadTurn, mendable, noticeOf, findRepetition, stuckEnding, stuckText } from "./loop-rules.ts";
import { cancelPrograms } from "../from-journal/past-conversation.ts";
import { type KeptTurn, saidInSay, turnsOfSay } from "../from-journal/conversation-state.ts";
import { isNoticed } from "../prompt/said-message.ts";
import { ROLES } from "../prompt/programs-option.ts";
import { isInterruption, unansweredText } from "./interruption.ts";

/** The calls of one loop have a session of the gate of their own, which goes on from what was used before. */
export class SayLoop {
  readonly #live: LiveConversation;
  readonly #scope: AgentScope;
  readonly #session: GateSession;
  readonly #answerer: CallAnswerer;
  readonly #asker: ModelAsker;
  ending: AgentEnding | undefined;
  #value: unknown;

  /** `scope` has the signal that ends this `send`. */
  constructor(live: LiveConversation, given: AgentScope, span?: ConversationSpan) {
    const scope = { ...given, answering: () => live.model };
    const { log, execution, request, opening, use } = live;
    const { programs, maxTokens } = request;
    const { deferred = [] } = opening;
    const { gate, language, limits, above, onEvent } = scope;
    this.#live = live;
    this.#scope = scope;
    this.#session = gate.open({
      execution,
      scope,
      ...ROLES[programs],
      language,
      deferred: deferred.flatMap(({ name }) => gate.tools.get(name) ?? []),
      limits,
      above,
      // The call of an agent that is a tool cannot wait: its caller would have to.
      canWait: above === undefined,
      past: use,
      startedAt: log.state.header.startedAt,
      maxTokens,
      log,
      spans: span,
      onEvent,
    });
    this.#session.budget.takeTokens(live.usage);
    this.#asker = new ModelAsker(live, scope, this.#session, span);
    this.#session.isOwnerIdle = () => !this.#asker.isAsking;
    log.onForeign = (records) => this.#session.take(records);
    this.#answerer = new CallAnswerer(live, scope, this.#session, span);
  }

  /** Asks for turns and answers their calls until there is an ending, or until only the outside brings it further. */
  async untilEnding(): Promise<AgentEnding> {
    this.ending = await this.#untilEnding();
    return this.ending;
  }

  async #untilEnding(): Promise<AgentEnding> {
    for (;;) {
      let { open } = this.#live;
      if (!open) {
        const reply = await this.#asker.ask();
        if (reply.type !== "turn") return reply;
        open = await this.#live.takeTurn(reply);
      }
      const ending = this.#hasBegun(open) ? undefined : await this.#endingOf(open);
      if (ending) {
        this.#live.takeUnmade(this.#notDone(ending));
        await this.#live.closeTurn();
        if (await this.#isMended(open.turn, ending)) continue;
        return ending;
      }
      const waiting = await this.#answerer.answerAll(this.#live.openCalls, this.#live.leftOpen);
      if (waiting && !this.#scope.signal.aborted) return waiting;
      if (waiting) await this.#cancelOpen();
      await this.#live.closeTurn();
      const after = await this.#endingAfterCalls();
      if (after) return after;
    }
  }

  #notDone({ type }: AgentEnding): CallResult[] {
    const why = isInterruption(this.#scope.signal.reason)
      ? "It was not made, because the user interrupted."
      : `It was not made, because the conversation had ended (${type}).`;
    return this.#live.openCalls.map((call) => refusal(call, why));
  }

  async #isMended({ end }: ModelTurn, ending: AgentEnding): Promise<boolean> {
    const found = mendable(end, ending);
    const { request, state } = this.#live;
    if (!found || request.notices === false || this.#scope.signal.aborted || isNoticed(saidInSay(state), found.notice))
      return false;
    if (turnsOfSay(state).length >= request.maxTurns || this.#session.budget.tokensLeft <= 0) return false;
    // A turn that does not count is taken out of what the model is sent.
    if (!isWholeEnd(end) && !(await this.#live.conversation()).restore) return false;
    await this.#live.say([noticeOf(found.notice, found.why)]);
    return true;
  }

  async #endingAfterCalls(): Promise<AgentEnding | undefined> {
    if (this.#scope.signal.aborted) return undefined;
    const { state, request, execution } = this.#live;
    const found = request.notices === false ? undefined : findRepetition(turnsOfSay(state));
    if (found && isNoticed(saidInSay(state), "stuck")) return stuckEnding(found);
    if (found) await this.#live.say([noticeOf("stuck", stuckText(found))]);
    if (!request.stopWhen) return undefined;
    const usage = this.#session.budget.tokenUsage;
    const stop = await request.stopWhen({ execution, turns: transcriptTurns(state.turns), usage });
    return stop ? { type: "stopped" } : undefined;
  }

  /** Asks for one turn, and leaves its calls open for the host to answer. An ending means that there is no turn. */
  async oneTurn(): Promise<ModelTurn | AgentEnding> {
    const reply = await this.#asker.ask();
    if (reply.type !== "turn") {
      this.ending = reply;
      return reply;
    }
    const open = await this.#live.takeTurn(reply, true);
    if (open.turn.calls.length === 0) await this.#live.closeTurn();
    return reply;
  }

  /** Whether calls of a turn were begun by another driver: then no limit ends the conversation before they have results. */
  #hasBegun({ results }: KeptTurn): boolean {
    const { state, begun } = this.#live;
    return results.size > 0 || begun.size > 0 || [...state.open.values()].some(({ decided }) => decided !== undefined);
  }

  async #cancelOpen(): Promise<void> {
    checkOwned(this.#scope.signal);
    const { execution } = this.#live;
    const cancelled = await cancelPrograms(this.#scope, await this.#live.read());
    const outcome = endingCancelled(this.#scope.signal.reason);
    for (const call of this.#live.openCalls) {
      if (cancelled.has(call.id))
        this.#scope.onEvent({
          type: "program_ended",
          execution,
          callId: call.id,
          outcome,
          isError: true,
          hosted: false,
        });
      this.#live.takeResult(refusal(call, unansweredText(this.#scope.signal)));
    }
  }

  /** The ending, if there is one with this turn. The calls of the last turn are not made, because the model could not read their results. */
  async #endingOf({ turn: { end, text }, said }: KeptTurn): Promise<AgentEnding | undefined> {
    switch (end.type) {
      case "answered":
        // The model answers the results of a hosted program, and has not read what the user said meanwhile.
        if (await this.#live.holdsMessages()) return this.#limitReached();
        return this.#answered(text, isNoticed(said, "wrap_up"));
      case "refused":
      case "cut_off":
      case "invalid":
        return endingOfBadTurn(end);
      case "called":
      case "unfinished":
        return this.#limitReached();
    }
  }

  #limitReached(): AgentEnding | undefined {
    const { request, state } = this.#live;
    if (this.#scope.signal.aborted) return cancelledEnding(this.#scope.signal);
    if (this.#session.budget.tokensLeft <= 0) return tokensSpent(this.#session.budget);
    return turnsOfSay(state).length >= request.maxTurns
      ? { type: "turns_spent", allowed: request.maxTurns }
      : undefined;
  }

  async #answered(answer: string, isWrappedUp: boolean): Promise<AgentEnding> {
    const { answer: schema } = this.#live.request;
    const { signal } = this.#scope;
    const checking = schema && checkAnswer(answer, schema, this.#session.share.lane);
    // A schema of the host's may wait for ever.
    const waiting = checking && untilAborted(checking, signal);
    const checked = await waiting?.catch<CheckedAnswer | undefined>(() => (signal.aborted ? undefined : checking));
    if (schema && !checked) return cancelledEnding(signal);
    if (checked?.ok === false) return { type: "answer_invalid", answer, reason: checked.reason };
    this.#value = checked?.value;
    return { type: "answered", answer, ...(isWrappedUp ? { wrappedUp: true } : {}) };
  }

  /** Ends the calls, but leaves them open if another driver has taken the conversation over. */
  stop(): void {
    const { reason } = this.#scope.signal;
    if (leavesOpen(reason)) this.#session.suspend(reason);
    else this.#session.close();
  }

  /** Leaves what is open to others, or to the next `send`. */
  suspend(reason?: Error): void {
    this.#session.suspend(reason);
    this.#leave();
  }

  async close(): Promise<void> {
    this.#session.close();
    await this.#session.ended;
    this.#leave();
  }

  #leave(): void {
    this.#live.log.onForeign = undefined;
    this.#live.use = this.#session.pastUse;
    this.#live.usage = this.#session.budget.tokenUsage;
  }

  report<Answer>(ending: AgentEnding): AgentReport<Answer> {
    const { state, usage, artifacts } = this.#live;
    return agentReport<Answer>(state, {
      ending,
      lines: [...this.#session.ledger.lines],
      value: this.#value,
      usage,
      artifacts,
    });
  }
}
