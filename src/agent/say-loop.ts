import { PortcullisError } from "../errors.ts";
import type { GateSession } from "../gate/session.ts";
import { leavesOpen } from "../journal/execution-log.ts";
import type { CallResult, ModelTurn, ProgramCall, ToolChoice, TurnReply } from "../models/model.ts";
import { cleanText } from "../output/clean-text.ts";
import { reportOf } from "../output/report.ts";
import { shownWaiting } from "../programs/redact-execution.ts";
import { executeOnce } from "../programs/execute-once.ts";
import { keepLarge } from "../programs/keep-value.ts";
import { waitingOf } from "../programs/waiting.ts";
import type { ConversationSpan } from "../telemetry/telemetry.ts";
import type { Caller } from "../tools/tool.ts";
import type { AgentReport } from "./agent-report.ts";
import type { AgentScope } from "./agent-scope.ts";
import { checkAnswer } from "./answer-schema.ts";
import { CallAnswerer, CANCELLED, type CallsWaiting, type EndedProgram, WAITS } from "./answer-calls.ts";
import { refusal } from "./call-result.ts";
import { childExecution } from "./child-execution.ts";
import { compacted, dropOldResults } from "./compact.ts";
import type { AgentEnding } from "./ending.ts";
import type { AgentEvent } from "./event.ts";
import { type LiveConversation, type OpenTurn, transcriptTurns } from "./live-conversation.ts";
import { endOfTurn } from "./conversation-span.ts";
import { toolOf } from "./give-up-calls.ts";
import { isNearlyFull, mendable, noticeOf, repeated, stuckText, whyWrapUp } from "./loop-rules.ts";
import { cancelPrograms, type OpenModelCall, waitingOfConversation } from "./past-conversation.ts";
import { isNoticed } from "./said.ts";
import { MAX_TURN_CALLS, type ProgramsOption } from "./transcript.ts";

/** The callers that a conversation may act as, and the callers whose tools are visible to it. */
const ROLES: Readonly<
  Record<ProgramsOption, { readonly callers: readonly Caller[]; readonly visibleTo: readonly Caller[] }>
> = {
  none: { callers: ["direct"], visibleTo: ["direct"] },
  local: { callers: ["direct"], visibleTo: ["direct", "programmatic"] },
  hosted: { callers: ["direct", "programmatic"], visibleTo: ["direct", "programmatic"] },
};

/**
 * Drives a conversation from what the user said to an ending, or until it waits: asks the model for a turn, answers its
 * calls, asks for the next one. Its calls have a session of the gate of their own, which goes on from what was used
 * before.
 */
export class SayLoop {
  readonly #live: LiveConversation;
  readonly #scope: AgentScope;
  readonly #session: GateSession;
  readonly #answerer: CallAnswerer;
  readonly #span: ConversationSpan | undefined;
  #isAsking = true;
  #ending: AgentEnding | undefined;

  /** `scope` has the signal that ends this `say`. */
  constructor(live: LiveConversation, scope: AgentScope, span?: ConversationSpan) {
    const { log, execution, request, opening, use } = live;
    const { programs, maxTokens } = request;
    const { deferred = [] } = opening;
    const { gate, language, limits, above, onEvent } = scope;
    this.#live = live;
    this.#scope = scope;
    this.#span = span;
    this.#session = gate.open({
      execution,
      scope,
      ...ROLES[programs],
      language,
      deferred: deferred.flatMap(({ name }) => gate.tools.get(name) ?? []),
      limits,
      above,
      canWait: this.#canWait,
      past: use,
      maxTokens,
      log,
      spans: span,
      onEvent,
    });
    this.#session.budget.takeTokens(live.usage);
    this.#session.isOwnerIdle = () => !this.#isAsking;
    log.onForeign = (records) => this.#session.take(records);
    this.#answerer = new CallAnswerer({
      session: this.#session,
      tools: gate.tools,
      deferred: new Set(deferred.map(({ name }) => name)),
      outputBytes: limits.outputBytes,
      keep: (callId, text) =>
        keepLarge({ space: live.artifacts, prefix: "" }, text, callId, limits, {
          lane: this.#session.share.lane,
          redactor: scope.redactor,
        }),
      redactor: scope.redactor,
      loads: programs === "local",
      runProgram: programs === "local" ? (call, source) => this.#runProgram(call, source) : undefined,
      recordRefused: ({ id: call, tool, caller }) =>
        log.append({
          type: "call",
          call,
          tool,
          caller,
          decision: "refused",
          code: "caller_not_allowed",
          at: Date.now(),
        }),
      onResult: (result) => live.takeResult(result),
      waiting: () => this.#callsWaiting(),
      checkOwned: () => this.#checkOwned(),
    });
  }

  /** The call of an agent that is a tool cannot wait: its caller would have to. */
  get #canWait(): boolean {
    return this.#scope.above === undefined;
  }

  /** What it has come to; undefined before that, and after one turn with calls. */
  get ending(): AgentEnding | undefined {
    return this.#ending;
  }

  /** Asks for turns and answers their calls until there is an ending, or until only the outside brings it further. */
  async untilEnding(): Promise<AgentEnding> {
    const ending = await this.#untilEnding();
    this.#ending = ending;
    return ending;
  }

  async #untilEnding(): Promise<AgentEnding> {
    for (;;) {
      const open = this.#live.open ?? (await this.#nextTurn());
      if (!("turn" in open)) return open;
      const ending = this.#hasBegun(open) ? undefined : await this.#endingOf(open);
      if (ending) {
        this.#live.takeUnmade(notDone(open, ending));
        await this.#live.closeTurn();
        if (await this.#isMended(ending)) continue;
        return ending;
      }
      const left = open.turn.calls.filter(({ id }) => !open.results.has(id));
      const waiting = await this.#answerer.answerAll(left, this.#live.leftOpen);
      if (waiting && !this.#scope.signal.aborted) return waiting;
      if (waiting) await this.#cancelOpen(open);
      await this.#live.closeTurn();
      const after = await this.#endingAfterCalls();
      if (after) return after;
    }
  }

  /** Tells the model once what was wrong with its turn, where another turn is left for it. */
  async #isMended(ending: AgentEnding): Promise<boolean> {
    const found = mendable(ending);
    const { request, turnsOfSay, saidInSay } = this.#live;
    if (!found || this.#scope.signal.aborted || isNoticed(saidInSay, found.notice)) return false;
    if (turnsOfSay.length >= request.maxTurns || this.#session.budget.tokensLeft <= 0) return false;
    // A turn that was cut off is taken out of what the model is sent.
    if (ending.type === "cut_off" && !(await this.#live.conversation()).restore) return false;
    await this.#live.say([noticeOf(found.notice, found.why)]);
    return true;
  }

  async #endingAfterCalls(): Promise<AgentEnding | undefined> {
    if (this.#scope.signal.aborted) return undefined;
    const { turnsOfSay, saidInSay, request, execution } = this.#live;
    const found = repeated(turnsOfSay);
    if (found && isNoticed(saidInSay, "stuck"))
      return { type: "stuck", tool: cleanText(found.tool), times: found.times };
    if (found) await this.#live.say([noticeOf("stuck", stuckText(found))]);
    if (!request.stopWhen) return undefined;
    const usage = this.#session.budget.tokenUsage;
    const state = { execution, turns: transcriptTurns(this.#live.turns), usage };
    return (await request.stopWhen(state)) ? { type: "stopped" } : undefined;
  }

  /** Asks for one turn, and leaves its calls open for the host to answer. An ending means that it has none. */
  async oneTurn(): Promise<ModelTurn | AgentEnding> {
    const reply = await this.#asked();
    if (reply.type !== "turn") {
      this.#ending = reply;
      return reply;
    }
    const open = await this.#live.takeTurn(reply, true);
    if (open.turn.calls.length === 0) await this.#live.closeTurn();
    return reply;
  }

  /** Whether calls of a turn were begun by another driver: then no limit ends the conversation before they have results. */
  #hasBegun({ results }: OpenTurn): boolean {
    const left = [...this.#live.leftOpen.values()];
    const isBegun = ({ decided, program }: OpenModelCall) => decided !== undefined || program !== undefined;
    return results.size > 0 || left.some((call) => isBegun(call));
  }

  /** Ends the calls and the programs that wait, with their conversation. */
  async #cancelOpen({ turn, results }: OpenTurn): Promise<void> {
    this.#checkOwned();
    const { execution } = this.#live;
    const cancelled = await cancelPrograms(this.#scope, execution, await this.#live.read());
    const outcome = { type: "cancelled" } as const;
    for (const call of turn.calls.filter(({ id }) => !results.has(id))) {
      if (cancelled.has(call.id))
        this.#emit({ type: "program_ended", execution, callId: call.id, outcome, isError: true, hosted: false });
      this.#live.takeResult(refusal(call, CANCELLED, toolOf(call)));
    }
  }

  /** Asks for a turn and journals it. An ending means that there is none. */
  async #nextTurn(): Promise<OpenTurn | AgentEnding> {
    const reply = await this.#asked();
    return reply.type === "turn" ? this.#live.takeTurn(reply) : reply;
  }

  /** Makes the history shorter where the context is nearly full. While a program at the provider waits, it stays. */
  async #compact(): Promise<void> {
    const { request, sent } = this.#live;
    const last = sent.at(-1)?.turn;
    const { compact = dropOldResults, contextTokens = CONTEXT_TOKENS } = request;
    if (!last || !isNearlyFull(last, contextTokens) || isOfProgram(last)) return;
    if (!(await this.#live.conversation()).restore) return;
    const kept = await compacted(sent, compact);
    if (kept) await this.#live.compact(kept);
  }

  /** Tells the model that its next turn is the last one. Returns whether it is. */
  async #wrapsUp(): Promise<boolean> {
    const { request, turnsOfSay, said } = this.#live;
    if (isNoticed(said, "wrap_up")) return true;
    const { maxTurns, contextTokens = CONTEXT_TOKENS, wrapUp = true } = request;
    const last = turnsOfSay.at(-1)?.turn;
    const left = { turns: maxTurns - turnsOfSay.length, tokens: this.#session.budget.tokensLeft, contextTokens };
    const why = wrapUp && last && !isOfProgram(last) ? whyWrapUp(last, left) : undefined;
    if (why === undefined) return false;
    await this.#live.say([noticeOf("wrap_up", why)]);
    return true;
  }

  /** A forced choice holds until the first call after a message of the user. */
  #toolChoice(isLast: boolean): ToolChoice | undefined {
    if (isLast) return "none";
    const { request, turnsOfSay } = this.#live;
    const chosen = request.settings?.toolChoice;
    const isForced = chosen !== undefined && chosen !== "auto" && chosen !== "none";
    return isForced && turnsOfSay.some(({ turn }) => turn.calls.length > 0) ? "auto" : undefined;
  }

  async #asked(): Promise<ModelTurn | AgentEnding> {
    if (this.#scope.signal.aborted) return this.#cancelled();
    // Agents that share the budget may have used the remaining tokens.
    if (this.#session.budget.tokensLeft <= 0) return this.#tokensSpent();
    this.#isAsking = true;
    await this.#compact();
    const isLast = await this.#wrapsUp();
    let reply = await this.#ask(isLast);
    while (reply.type === "failed" && !this.#scope.signal.aborted && (await this.#fallBack()))
      reply = await this.#ask(isLast);
    this.#isAsking = false;
    if (reply.type === "aborted" || (reply.type === "failed" && this.#scope.signal.aborted)) return this.#cancelled();
    return reply.type === "failed" ? { type: "provider_failed", failure: reply.failure } : reply;
  }

  /** Goes on with the next model, where there is one that takes the conversation. */
  async #fallBack(): Promise<boolean> {
    const { fallbacks = [] } = this.#live.request;
    const place = fallbacks.findIndex(({ name }) => name === this.#live.model.name);
    for (const model of fallbacks.slice(place + 1)) {
      if (this.#session.budget.tokensLeft <= 0) return false;
      try {
        await this.#live.changeModel(model);
        this.#emit({ type: "model_changed", execution: this.#live.execution, model: model.name });
        return true;
      } catch (error) {
        if (!PortcullisError.is(error) || !REFUSED.has(error.code)) throw error;
      }
    }
    return false;
  }

  async #ask(isLast: boolean): Promise<TurnReply> {
    const { signal } = this.#scope;
    const { budget } = this.#session;
    const { execution, turns, log } = this.#live;
    const conversation = await this.#live.conversation();
    const toolChoice = this.#toolChoice(isLast);
    const turn = () =>
      conversation.turn({
        signal,
        maxTokens: budget.tokensLeft,
        ...(toolChoice === undefined ? {} : { toolChoice }),
        onText: (text) => this.#emit({ type: "text", execution, text }),
        onReasoning: (text) => this.#emit({ type: "reasoning", execution, text }),
        onArgument: (piece) => this.#emit({ type: "argument", execution, ...piece }),
        onRetry: ({ attempt, reason, delayMs }) =>
          log.append({ type: "retry", attempt, reason: cleanText(reason), delayMs, at: Date.now() }),
      });
    const reply = await (this.#span ? this.#span.chat(this.#live.model.name, turn, endOfTurn) : turn());
    if (reply.type === "aborted") return reply;
    const usage = reply.usage ?? { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
    budget.takeTokens(usage);
    this.#emit({ type: "turn_ended", execution, turn: turns.length + 1, usage });
    if (reply.type !== "turn") return reply;
    if (reply.calls.length > MAX_TURN_CALLS) {
      this.#live.forget();
      return tooManyCalls(reply);
    }
    this.#emitHosted(reply);
    return reply;
  }

  /** The ending, if there is one with this turn. The calls of the last turn are not made, because the model could not read their results. */
  async #endingOf({ turn: { end, text }, said }: OpenTurn): Promise<AgentEnding | undefined> {
    const { maxTurns } = this.#live.request;
    switch (end.type) {
      case "answered":
        return this.#answered(text, isNoticed(said, "wrap_up"));
      case "refused":
      case "cut_off":
        return end;
      case "called":
      case "unfinished":
        if (this.#scope.signal.aborted) return this.#cancelled();
        if (this.#session.budget.tokensLeft <= 0) return this.#tokensSpent();
        return this.#live.turnsOfSay.length + 1 >= maxTurns ? { type: "turns_spent", allowed: maxTurns } : undefined;
    }
  }

  async #answered(answer: string, isWrappedUp: boolean): Promise<AgentEnding> {
    const { answer: schema } = this.#live.request;
    const checked =
      schema && (await orAborted(checkAnswer(answer, schema, this.#session.share.lane), this.#scope.signal));
    if (checked === ABORTED) return this.#cancelled();
    if (checked?.ok === false) return { type: "answer_invalid", answer, reason: checked.reason };
    this.#live.answer = checked?.value;
    return { type: "answered", answer, ...(isWrappedUp ? { wrappedUp: true } : {}) };
  }

  #cancelled(): AgentEnding {
    this.#checkOwned();
    return { type: "cancelled" };
  }

  #checkOwned(): void {
    const { reason } = this.#scope.signal;
    if (leavesOpen(reason)) throw reason;
  }

  /** The effective allowance is also capped by the caller's remaining budget. */
  #tokensSpent(): AgentEnding {
    const { tokens, tokensLeft } = this.#session.budget;
    return { type: "tokens_spent", allowed: Math.max(0, tokens + tokensLeft), seen: tokens };
  }

  async #callsWaiting(): Promise<CallsWaiting> {
    await this.#live.recorded;
    const past = await this.#live.read();
    const waiting = waitingOfConversation(past);
    // What was said of a call may have come from another process.
    if (!waiting) await this.#live.log.catchUp();
    return {
      waiting: waiting && (await shownWaiting(waiting, this.#scope.redactor)),
      isProgramWaiting: (callId) => {
        const program = past.open.get(callId)?.program;
        return program !== undefined && waitingOf(program.state) !== undefined;
      },
    };
  }

  /** Runs a program, or goes on with it, as the execution that belongs to its call. */
  async #runProgram(call: ProgramCall, source: string): Promise<EndedProgram | typeof WAITS> {
    const { execution, parts, artifacts: space } = this.#live;
    const { allowChangedTools, asks } = parts;
    this.#emit({ type: "program_started", execution, callId: call.id, source, hosted: false });
    const above = { session: this.#session, execution, callId: call.id, canWait: this.#canWait };
    const scope = this.#scope.with({ above, artifacts: { space, prefix: `${call.id}/` } });
    const run = () => executeOnce(scope, source, childExecution(execution, call.id), { allowChangedTools, asks });
    const ended = await (this.#span ? this.#span.run(run) : run());
    if (ended.ending.type === "waiting") return WAITS;
    const report = reportOf(ended, scope.limits, scope.gate.tools);
    const { outcome, output, usage } = report;
    scope.telemetry?.noteOutput(usage.bytesOut);
    this.#emit({ type: "program_ended", execution, callId: call.id, outcome, isError: output.isError, hosted: false });
    return { report, approvedBy: ended.approvedBy };
  }

  #emitHosted({ hosted }: ModelTurn): void {
    for (const news of hosted) {
      const about = { execution: this.#live.execution, callId: news.program, hosted: true };
      if (news.type === "hosted_program_started")
        this.#emit({ type: "program_started", ...about, source: news.source });
      else this.#emit({ type: "program_ended", ...about, isError: news.isError });
    }
  }

  /** Ends the calls. Those of a conversation that another driver has taken over stay open. */
  stop(): void {
    const { reason } = this.#scope.signal;
    if (leavesOpen(reason)) this.#session.suspend(reason);
    else this.#session.close();
  }

  /** Leaves what is open to others, or to the next `say`. */
  suspend(reason?: Error): void {
    this.#session.suspend(reason);
    this.#leave();
  }

  /** Ends the session, and gives what it used to the conversation. */
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
    const { calls } = this.#session.usage;
    return this.#live.report<Answer>(ending, { calls, lines: [...this.#session.lines] });
  }

  #emit(event: AgentEvent): void {
    this.#scope.onEvent(event);
  }
}

/** Tokens that the model's context has, where nothing is said of it. */
const CONTEXT_TOKENS = 200_000;

/** Codes of a model that does not take the conversation. */
const REFUSED: ReadonlySet<string> = new Set(["option_invalid", "model_unavailable"]);

const ABORTED = Symbol("aborted");

/** What the work gives, or ABORTED: a schema of the host's may wait for ever. */
async function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value | typeof ABORTED> {
  const aborted = Promise.withResolvers<typeof ABORTED>();
  const onAbort = () => aborted.resolve(ABORTED);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Whether a program at the provider waits for results of this turn, or for its provider. */
function isOfProgram({ calls, end }: ModelTurn): boolean {
  return end.type === "unfinished" || calls.some((call) => call.type === "tool_call" && call.caller === "programmatic");
}

function tooManyCalls({ calls, usage }: ModelTurn): TurnReply {
  const message = `The reply makes ${calls.length} calls, more than the ${MAX_TURN_CALLS} that one turn may make. None of them was made.`;
  return { type: "failed", failure: { code: "reply_invalid", message }, usage };
}

function notDone({ turn, results }: OpenTurn, ending: AgentEnding): CallResult[] {
  return turn.calls
    .filter(({ id }) => !results.has(id))
    .map((call) =>
      refusal(call, `It was not made, because the conversation had ended (${ending.type}).`, toolOf(call)),
    );
}
