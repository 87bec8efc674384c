import type { GateSession } from "../gate/session.ts";
import { isHeadMoved } from "../journal/execution-log.ts";
import type { CallResult, ModelCall, ModelTurn, ProgramCall, TurnReply } from "../models/model.ts";
import { type Report, reportOf } from "../output/report.ts";
import { executeOnce } from "../programs/execute-once.ts";
import { keepLarge } from "../programs/keep-value.ts";
import { waitingOf } from "../programs/waiting.ts";
import type { Caller } from "../tools/tool.ts";
import type { AgentReport } from "./agent-report.ts";
import type { AgentScope } from "./agent-scope.ts";
import { CallAnswerer, CANCELLED, type CallsWaiting, WAITS } from "./answer-calls.ts";
import { refusal } from "./call-result.ts";
import { childExecution } from "./child-execution.ts";
import type { AgentEnding } from "./ending.ts";
import type { AgentEvent } from "./event.ts";
import type { LiveConversation, OpenTurn } from "./live-conversation.ts";
import { cancelPrograms, type OpenModelCall, waitingOfConversation } from "./past-conversation.ts";
import { RUN_PROGRAM } from "./run-program.ts";
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
  #isAsking = true;

  /** `scope` has the signal that ends this `say`. */
  constructor(live: LiveConversation, scope: AgentScope) {
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
      canWait: this.#canWait,
      past: use,
      maxTokens,
      log,
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
        keepLarge({ space: live.artifacts, prefix: "" }, text, callId, limits, this.#session.share.lane),
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

  /** Asks for turns and answers their calls until there is an ending, or until only the outside brings it further. */
  async untilEnding(): Promise<AgentEnding> {
    for (;;) {
      const open = this.#live.open ?? (await this.#nextTurn());
      if (!("turn" in open)) return open;
      const ending = this.#hasBegun(open) ? undefined : this.#endingOf(open.turn);
      if (ending) {
        for (const result of notDone(open, ending)) this.#live.takeResult(result);
        await this.#live.closeTurn();
        return ending;
      }
      const left = open.turn.calls.filter(({ id }) => !open.results.has(id));
      const waiting = await this.#answerer.answerAll(left, this.#live.leftOpen);
      if (waiting && !this.#scope.signal.aborted) return waiting;
      if (waiting) await this.#cancelPrograms(open);
      await this.#live.closeTurn();
    }
  }

  /** Asks for one turn, and leaves its calls open for the host to answer. An ending means that it has none. */
  async oneTurn(): Promise<ModelTurn | AgentEnding> {
    const reply = await this.#asked();
    if (reply.type !== "turn") return reply;
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

  /** Ends the programs that wait, with their conversation. */
  async #cancelPrograms({ turn }: OpenTurn): Promise<void> {
    this.#checkOwned();
    const { execution } = this.#live;
    const cancelled = await cancelPrograms(this.#scope, execution, await this.#live.read());
    const outcome = { type: "cancelled" } as const;
    for (const call of turn.calls.filter(({ id }) => cancelled.has(id))) {
      this.#emit({ type: "program_ended", execution, callId: call.id, outcome, isError: true, hosted: false });
      this.#live.takeResult(refusal(call, CANCELLED, RUN_PROGRAM));
    }
  }

  /** Asks for a turn and journals it. An ending means that there is none. */
  async #nextTurn(): Promise<OpenTurn | AgentEnding> {
    const reply = await this.#asked();
    return reply.type === "turn" ? this.#live.takeTurn(reply) : reply;
  }

  async #asked(): Promise<ModelTurn | AgentEnding> {
    if (this.#scope.signal.aborted) return this.#cancelled();
    // Agents that share the budget may have used the remaining tokens.
    if (this.#session.budget.tokensLeft <= 0) return this.#tokensSpent();
    this.#isAsking = true;
    const reply = await this.#ask();
    this.#isAsking = false;
    if (reply.type === "aborted" || (reply.type === "failed" && this.#scope.signal.aborted)) return this.#cancelled();
    return reply.type === "failed" ? { type: "provider_failed", failure: reply.failure } : reply;
  }

  async #ask(): Promise<TurnReply> {
    const { signal } = this.#scope;
    const { budget } = this.#session;
    const { execution, turns } = this.#live;
    const conversation = await this.#live.conversation();
    const reply = await conversation.turn({
      signal,
      maxTokens: budget.tokensLeft,
      onText: (text) => this.#emit({ type: "text", execution, text }),
    });
    if (reply.type === "aborted") return reply;
    const usage = reply.usage ?? { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
    budget.takeTokens(usage);
    this.#emit({ type: "turn_ended", execution, turn: turns.length + 1, usage });
    if (reply.type !== "turn") return reply;
    if (reply.calls.length > MAX_TURN_CALLS) return tooManyCalls(reply);
    this.#emitHosted(reply);
    return reply;
  }

  /** The ending, if there is one with this turn. The calls of the last turn are not made, because the model could not read their results. */
  #endingOf({ end, text }: ModelTurn): AgentEnding | undefined {
    const { maxTurns } = this.#live.request;
    switch (end.type) {
      case "answered":
        return { type: "answered", answer: text };
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

  #cancelled(): AgentEnding {
    this.#checkOwned();
    return { type: "cancelled" };
  }

  #checkOwned(): void {
    const { reason } = this.#scope.signal;
    if (isHeadMoved(reason)) throw reason;
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
      waiting,
      isProgramWaiting: (callId) => {
        const program = past.open.get(callId)?.program;
        return program !== undefined && waitingOf(program.state) !== undefined;
      },
    };
  }

  /** Runs a program, or goes on with it, as the execution that belongs to its call. */
  async #runProgram(call: ProgramCall, source: string): Promise<Report | typeof WAITS> {
    const { execution, parts, artifacts: space } = this.#live;
    const { allowChangedTools, asks } = parts;
    this.#emit({ type: "program_started", execution, callId: call.id, source, hosted: false });
    const above = { session: this.#session, execution, callId: call.id, canWait: this.#canWait };
    const scope = this.#scope.with({ above, artifacts: { space, prefix: `${call.id}/` } });
    const ended = await executeOnce(scope, source, childExecution(execution, call.id), { allowChangedTools, asks });
    if (ended.ending.type === "waiting") return WAITS;
    const report = reportOf(ended, scope.limits, scope.gate.tools);
    const { outcome, output } = report;
    this.#emit({ type: "program_ended", execution, callId: call.id, outcome, isError: output.isError, hosted: false });
    return report;
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
    if (isHeadMoved(reason)) this.#session.suspend(reason);
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

  report(ending: AgentEnding): AgentReport {
    const { calls } = this.#session.usage;
    return this.#live.report(ending, { calls, lines: [...this.#session.lines] });
  }

  #emit(event: AgentEvent): void {
    this.#scope.onEvent(event);
  }
}

function tooManyCalls({ calls, usage }: ModelTurn): TurnReply {
  const message = `The reply makes ${calls.length} calls, more than the ${MAX_TURN_CALLS} that one turn may make. None of them was made.`;
  return { type: "failed", failure: { code: "reply_invalid", message }, usage };
}

function notDone({ turn, results }: OpenTurn, ending: AgentEnding): CallResult[] {
  const tool = (call: ModelCall) => (call.type === "tool_call" ? call.tool : RUN_PROGRAM);
  return turn.calls
    .filter(({ id }) => !results.has(id))
    .map((call) => refusal(call, `It was not made, because the conversation had ended (${ending.type}).`, tool(call)));
}
