import type { GateSession } from "../gate/session.ts";
import { type ExecutionLog, isHeadMoved } from "../journal/execution-log.ts";
import type {
  CallResult,
  Conversation,
  ModelCall,
  ModelTurn,
  Opening,
  ProgramCall,
  TurnReply,
} from "../models/model.ts";
import { type Report, reportOf } from "../output/report.ts";
import { whileDriven } from "../programs/driven-here.ts";
import { executeOnce } from "../programs/execute-once.ts";
import { waitingOf } from "../programs/waiting.ts";
import type { Caller } from "../tools/tool.ts";
import type { AgentReport, AgentRequest } from "./agent-report.ts";
import type { AgentScope } from "./agent-scope.ts";
import { CallAnswerer, CANCELLED, type CallsWaiting, WAITS } from "./answer-calls.ts";
import { refusal } from "./call-result.ts";
import { childExecution } from "./child-execution.ts";
import type { AgentEnding } from "./ending.ts";
import type { AgentEvent } from "./event.ts";
import {
  cancelPrograms,
  type OpenModelCall,
  type PastConversation,
  readPastConversation,
  waitingOfConversation,
} from "./past-conversation.ts";
import { RUN_PROGRAM } from "./run-program.ts";
import { agentReport } from "./agent-report.ts";
import { MAX_TURN_CALLS, type ProgramsOption, type TranscriptTurn } from "./transcript.ts";

/** What drives a conversation from where its log is. */
export interface ConversationWork {
  readonly request: AgentRequest;
  readonly opening: Opening;
  readonly conversation: Conversation;
  /** What the journal tells of a conversation that is taken up again. */
  readonly past?: PastConversation;
  /** Take its programs up although tools have changed. */
  readonly allowChangedTools?: boolean | undefined;
  /** Ask about calls of its programs that wait. */
  readonly asks?: boolean | undefined;
}

/** Drives a conversation to its ending, or until it waits. Rejects if the journal or the sandbox fails, or if another driver has taken it over. */
export function driveConversation(scope: AgentScope, log: ExecutionLog, work: ConversationWork): Promise<AgentReport> {
  return whileDriven(scope.journal, log, untilEnded(scope, log, work));
}

async function untilEnded(scope: AgentScope, log: ExecutionLog, work: ConversationWork): Promise<AgentReport> {
  // When one of several calls makes the conversation reject, the other programs end too.
  const over = new AbortController();
  const signal = AbortSignal.any([scope.signal, over.signal]);
  log.onFenced = (error) => over.abort(error);
  const loop = new AgentLoop(scope.with({ signal }), log, work);
  const onAbort = () => loop.stop();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await loop.end(await loop.untilEnding());
  } catch (error) {
    await loop.abandon(error);
    throw error;
  } finally {
    over.abort();
  }
}

/** The callers that a conversation may act as, and the callers whose tools are visible to it. */
const ROLES: Readonly<
  Record<ProgramsOption, { readonly callers: readonly Caller[]; readonly visibleTo: readonly Caller[] }>
> = {
  none: { callers: ["direct"], visibleTo: ["direct"] },
  local: { callers: ["direct"], visibleTo: ["direct", "programmatic"] },
  hosted: { callers: ["direct", "programmatic"], visibleTo: ["direct", "programmatic"] },
};

/** The turn whose calls are being answered. */
interface OpenTurn {
  readonly turn: ModelTurn;
  /** By call id. */
  readonly results: Map<string, CallResult>;
}

class AgentLoop {
  readonly #session: GateSession;
  readonly #execution: string;
  readonly #scope: AgentScope;
  readonly #work: ConversationWork;
  readonly #log: ExecutionLog;
  readonly #answerer: CallAnswerer;
  readonly #turns: TranscriptTurn[] = [];
  #open: OpenTurn | undefined;
  /** Resolves once all results so far are in the journal. */
  #recorded: Promise<void> = Promise.resolve();
  #isAsking = true;
  /** Whether it was taken up, and has come no further than the last driver. */
  #isTakenUp: boolean;

  constructor(scope: AgentScope, log: ExecutionLog, work: ConversationWork) {
    const { execution } = log;
    const { programs, maxTokens } = work.request;
    const { deferred = [] } = work.opening;
    const { gate, language, limits, above, onEvent } = scope;
    this.#execution = execution;
    this.#scope = scope;
    this.#work = work;
    this.#log = log;
    this.#isTakenUp = work.past !== undefined;
    this.#session = gate.open({
      execution,
      scope,
      ...ROLES[programs],
      language,
      deferred: deferred.flatMap(({ name }) => gate.tools.get(name) ?? []),
      limits,
      above,
      canWait: this.#canWait,
      past: work.past?.use,
      maxTokens,
      log,
      onEvent,
    });
    this.#session.isOwnerIdle = () => !this.#isAsking;
    log.onForeign = (records) => this.#session.take(records);
    this.#answerer = new CallAnswerer({
      session: this.#session,
      tools: gate.tools,
      deferred: new Set(deferred.map(({ name }) => name)),
      outputBytes: limits.outputBytes,
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
      onResult: (result) => this.#takeResult(result),
      waiting: () => this.#callsWaiting(),
      checkOwned: () => this.#checkOwned(),
    });
    if (work.past) this.#restore(work.past);
  }

  /** The call of an agent that is a tool cannot wait: its caller would have to. */
  get #canWait(): boolean {
    return this.#scope.above === undefined;
  }

  #restore({ turns, usage }: PastConversation): void {
    for (const { turn, results } of turns.slice(0, -1)) this.#turns.push({ turn, results: inOrder(turn, results) });
    const last = turns.at(-1);
    if (last) this.#open = { turn: last.turn, results: new Map(last.results) };
    this.#session.budget.takeTokens(usage);
  }

  /** Asks for turns and answers their calls until the conversation ends or waits. */
  async untilEnding(): Promise<AgentEnding> {
    for (;;) {
      const open = this.#open ?? (await this.#nextTurn());
      if (!("turn" in open)) return open;
      this.#open = open;
      const { turn, results } = open;
      const ending = this.#hasBegun(open) ? undefined : this.#endingOf(turn);
      if (ending) {
        for (const result of notDone(turn.calls, ending)) results.set(result.callId, result);
        this.#closeTurn();
        return ending;
      }
      const left = turn.calls.filter(({ id }) => !results.has(id));
      const waiting = await this.#answerer.answerAll(left, this.#work.past?.open);
      if (waiting && !this.#scope.signal.aborted) return waiting;
      if (waiting) await this.#cancelPrograms(open);
      await this.#recorded;
      this.#work.conversation.answer(this.#closeTurn());
    }
  }

  /** Whether calls of a turn were begun by another driver: then no limit ends the conversation before they have results. */
  #hasBegun({ turn, results }: OpenTurn): boolean {
    const { past } = this.#work;
    const isBegun = ({ decided, program }: OpenModelCall) => decided !== undefined || program !== undefined;
    return (
      past?.turns.at(-1)?.turn === turn && (results.size > 0 || [...past.open.values()].some((call) => isBegun(call)))
    );
  }

  /** Ends the programs that wait, with their conversation. */
  async #cancelPrograms({ turn }: OpenTurn): Promise<void> {
    this.#checkOwned();
    const execution = this.#execution;
    await this.#recorded;
    const past = await readPastConversation(this.#scope.journal, execution);
    const cancelled = await cancelPrograms(this.#scope, execution, past);
    const outcome = { type: "cancelled" } as const;
    for (const call of turn.calls.filter(({ id }) => cancelled.has(id))) {
      this.#emit({ type: "program_ended", execution, callId: call.id, outcome, isError: true, hosted: false });
      this.#takeResult(refusal(call, CANCELLED, RUN_PROGRAM));
    }
  }

  /** Asks for a turn and journals it. An ending means that there is none. */
  async #nextTurn(): Promise<OpenTurn | AgentEnding> {
    if (this.#scope.signal.aborted) return this.#cancelled();
    // Agents that share the budget may have used the remaining tokens.
    if (this.#session.budget.tokensLeft <= 0) return this.#tokensSpent();
    this.#isAsking = true;
    const reply = await this.#ask();
    this.#isAsking = false;
    if (reply.type === "aborted" || (reply.type === "failed" && this.#scope.signal.aborted)) return this.#cancelled();
    if (reply.type === "failed") return { type: "provider_failed", failure: reply.failure };
    const { opaque } = this.#work.conversation;
    const message = JSON.stringify(reply);
    const sealed = opaque === undefined ? {} : { opaque };
    await this.#log.append({ type: "message", from: "model", message, ...sealed, at: Date.now() });
    this.#isTakenUp = false;
    return { turn: reply, results: new Map() };
  }

  async #ask(): Promise<TurnReply> {
    const { signal } = this.#scope;
    const { budget } = this.#session;
    const reply = await this.#work.conversation.turn({
      signal,
      maxTokens: budget.tokensLeft,
      onText: (text) => this.#emit({ type: "text", execution: this.#execution, text }),
    });
    if (reply.type === "aborted") return reply;
    const usage = reply.usage ?? { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
    budget.takeTokens(usage);
    this.#emit({ type: "turn_ended", execution: this.#execution, turn: this.#turns.length + 1, usage });
    if (reply.type !== "turn") return reply;
    if (reply.calls.length > MAX_TURN_CALLS) return tooManyCalls(reply);
    this.#emitHosted(reply);
    return reply;
  }

  /** The ending, if the conversation ends with this turn. The calls of the last turn are not made, because the model could not read their results. */
  #endingOf({ end, text }: ModelTurn): AgentEnding | undefined {
    const { maxTurns } = this.#work.request;
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
        return this.#turns.length + 1 >= maxTurns ? { type: "turns_spent", allowed: maxTurns } : undefined;
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

  #takeResult(result: CallResult): void {
    this.#open?.results.set(result.callId, result);
    const message = JSON.stringify([result]);
    this.#recorded = this.#log.append({ type: "message", from: "host", message, at: Date.now() });
  }

  /** Ends the open turn, and returns its results. */
  #closeTurn(): readonly CallResult[] {
    const open = this.#open;
    if (!open) return [];
    const results = inOrder(open.turn, open.results);
    this.#turns.push({ turn: open.turn, results });
    this.#open = undefined;
    return results;
  }

  async #callsWaiting(): Promise<CallsWaiting> {
    await this.#recorded;
    const past = await readPastConversation(this.#scope.journal, this.#execution);
    const waiting = waitingOfConversation(past);
    // What was said of a call may have come from another process.
    if (!waiting) await this.#log.catchUp();
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
    const execution = this.#execution;
    const { allowChangedTools, asks } = this.#work;
    this.#emit({ type: "program_started", execution, callId: call.id, source, hosted: false });
    const above = { session: this.#session, execution, callId: call.id, canWait: this.#canWait };
    const scope = this.#scope.with({ above });
    const ended = await executeOnce(scope, source, childExecution(execution, call.id), { allowChangedTools, asks });
    if (ended.ending.type === "waiting") return WAITS;
    const report = reportOf(ended, scope.limits, scope.gate.tools);
    const { outcome, output } = report;
    this.#emit({ type: "program_ended", execution, callId: call.id, outcome, isError: output.isError, hosted: false });
    return report;
  }

  #emitHosted({ hosted }: ModelTurn): void {
    for (const news of hosted) {
      const about = { execution: this.#execution, callId: news.program, hosted: true };
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

  async end(ending: AgentEnding): Promise<AgentReport> {
    const execution = this.#execution;
    if (ending.type === "waiting") {
      this.#session.suspend();
      await this.#log.end(false);
      this.#emit({ type: "conversation_waiting", execution, waiting: ending });
    } else {
      await this.#session.ended;
      await this.#log.append({ type: "outcome", outcome: JSON.stringify(ending), at: Date.now() });
      await this.#log.end(true);
      this.#emit({ type: "conversation_ended", execution, ending });
    }
    this.#closeTurn();
    const { calls } = this.#session.usage;
    const { tokenUsage } = this.#session.budget;
    return agentReport(this.#work.request, {
      execution,
      ending,
      turns: this.#turns,
      tools: this.#scope.gate.tools.all.map(({ name }) => name),
      calls,
      lines: [...this.#session.lines],
      usage: tokenUsage,
    });
  }

  /**
   * Records an outcome, so that the journal does not show the conversation as running. One that another driver has taken
   * over is left to it. One that was taken up, and came no further here, may go on elsewhere.
   */
  async abandon(error: unknown): Promise<void> {
    if (isHeadMoved(error) || this.#isTakenUp) {
      this.#session.suspend(error instanceof Error ? error : undefined);
      await this.#log.end(false);
      return;
    }
    const outcome = JSON.stringify({ type: "crashed", detail: String(error) });
    try {
      await this.#log.append({ type: "outcome", outcome, at: Date.now() });
    } catch {
      // The journal itself may be the cause of the error.
    }
    await this.#log.end(true);
  }

  #emit(event: AgentEvent): void {
    this.#scope.onEvent(event);
  }
}

/** The results of a turn in the order of its calls. */
function inOrder({ calls }: ModelTurn, results: ReadonlyMap<string, CallResult>): readonly CallResult[] {
  return calls.flatMap(({ id }) => results.get(id) ?? []);
}

function tooManyCalls({ calls, usage }: ModelTurn): TurnReply {
  const message = `The reply makes ${calls.length} calls, more than the ${MAX_TURN_CALLS} that one turn may make. None of them was made.`;
  return { type: "failed", failure: { code: "reply_invalid", message }, usage };
}

function notDone(calls: readonly ModelCall[], ending: AgentEnding): CallResult[] {
  const tool = (call: ModelCall) => (call.type === "tool_call" ? call.tool : RUN_PROGRAM);
  return calls.map((call) =>
    refusal(call, `It was not made, because the conversation had ended (${ending.type}).`, tool(call)),
  );
}
