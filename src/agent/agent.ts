import { randomUUID } from "node:crypto";
import type { CallLine } from "../gate/call-line.ts";
import { headerBase } from "../gate/header-base.ts";
import type { GateSession } from "../gate/session.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { ExecutionLog } from "../journal/execution-log.ts";
import type {
  CallResult,
  Conversation,
  Model,
  ModelCall,
  ModelTurn,
  Opening,
  ProgramCall,
  TurnReply,
} from "../models/model.ts";
import { type Report, reportOf } from "../output/report.ts";
import { execute } from "../programs/execute.ts";
import type { Caller } from "../tools/tool.ts";
import { shownDigest } from "../tools/tool-digest.ts";
import type { AgentScope } from "./agent-scope.ts";
import { CallAnswerer } from "./answer-calls.ts";
import { refusal } from "./call-result.ts";
import type { AgentEnding } from "./ending.ts";
import type { AgentEvent } from "./event.ts";
import { openingFor } from "./opening.ts";
import { RUN_PROGRAM } from "./run-program.ts";
import type { AgentUsage, ProgramsOption, Transcript, TranscriptTurn } from "./transcript.ts";

/** A conversation to hold, checked. */
export interface AgentRequest {
  readonly model: Model;
  readonly task: string;
  readonly programs: ProgramsOption;
  readonly maxTurns: number;
  readonly maxTokens: number;
}

/** A conversation that has ended. */
export interface AgentReport {
  /** Id of the conversation in the journal. */
  readonly execution: ExecutionId;
  readonly ending: AgentEnding;
  /** Undefined unless the ending is `answered`. */
  readonly answer: string | undefined;
  /**
   * All calls: the model's own, and those of its programs and of agents that it called. The id of a call that a local
   * program or an agent made begins with the id of the call that started it, like `call_2/17`.
   */
  readonly calls: readonly CallLine[];
  readonly usage: AgentUsage;
  readonly transcript: Transcript;
}

/**
 * Runs a conversation: asks the model for a turn, answers its calls, asks for the next turn, until the model answers or
 * a limit is reached. Every failure of the model or its provider is an ending. Rejects for requests that the model
 * does not support, and where the journal cannot be written or the sandbox has no guest.
 */
export async function runAgent(scope: AgentScope, request: AgentRequest): Promise<AgentReport> {
  const { model, task, programs } = request;
  const opening = openingFor(model, scope.gate.search, programs, scope);
  const conversation = await model.converse(opening);
  // When one of several calls makes the conversation reject, the other programs end too.
  const over = new AbortController();
  const signal = AbortSignal.any([scope.signal, over.signal]);
  const loop = await AgentLoop.begin(scope.with({ signal }), request, opening, conversation);
  const onAbort = () => loop.session.close();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    conversation.say(task);
    return await loop.end(await loop.untilEnding());
  } catch (error) {
    await loop.abandon(error);
    throw error;
  } finally {
    over.abort();
  }
}

/** Maximum of calls in one turn. A hosted program makes some hundreds at once. */
export const MAX_TURN_CALLS = 1000;

/** The callers that a conversation may act as, and the callers whose tools are visible to it. */
const ROLES: Readonly<
  Record<ProgramsOption, { readonly callers: readonly Caller[]; readonly visibleTo: readonly Caller[] }>
> = {
  none: { callers: ["direct"], visibleTo: ["direct"] },
  local: { callers: ["direct"], visibleTo: ["direct", "programmatic"] },
  hosted: { callers: ["direct", "programmatic"], visibleTo: ["direct", "programmatic"] },
};

class AgentLoop {
  readonly session: GateSession;
  readonly #execution: string;
  readonly #scope: AgentScope;
  readonly #request: AgentRequest;
  readonly #conversation: Conversation;
  readonly #log: ExecutionLog;
  readonly #answerer: CallAnswerer;
  readonly #turns: TranscriptTurn[] = [];
  #isAsking = true;

  private constructor(
    execution: string,
    scope: AgentScope,
    request: AgentRequest,
    conversation: Conversation,
    { deferred = [] }: Opening,
    log: ExecutionLog,
  ) {
    this.#execution = execution;
    this.#scope = scope;
    this.#request = request;
    this.#conversation = conversation;
    this.#log = log;
    const { programs, maxTokens } = request;
    const { gate, limits, above, onEvent } = scope;
    this.session = gate.open({
      execution,
      scope,
      ...ROLES[programs],
      language: scope.language,
      deferred: deferred.flatMap(({ name }) => gate.tools.get(name) ?? []),
      limits,
      above,
      maxTokens,
      log,
      onEvent,
    });
    this.session.isOwnerIdle = () => !this.#isAsking;
    this.#answerer = new CallAnswerer({
      session: this.session,
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
    });
  }

  static async begin(
    scope: AgentScope,
    request: AgentRequest,
    opening: Opening,
    conversation: Conversation,
  ): Promise<AgentLoop> {
    const { model, task } = request;
    const { gate, journal, leaseMs, onEvent } = scope;
    const execution = randomUUID();
    const base = headerBase(execution, scope, gate.tools.all);
    const { tools, runProgram } = opening;
    const shown = [...(runProgram ? [runProgram] : []), ...tools].map(shownDigest);
    const header = { ...base, kind: "conversation", model: model.name, task, shown } as const;
    const log = await ExecutionLog.create(journal, header, { driver: randomUUID(), leaseMs });
    onEvent({ type: "conversation_started", execution, model: model.name });
    return new AgentLoop(execution, scope, request, conversation, opening, log);
  }

  /** Asks for turns and answers their calls until the conversation ends. */
  async untilEnding(): Promise<AgentEnding> {
    for (;;) {
      if (this.#scope.signal.aborted) return { type: "cancelled" };
      // Agents that share the budget may have used the remaining tokens.
      if (this.session.budget.tokensLeft <= 0) return this.#tokensSpent();
      this.#isAsking = true;
      const reply = await this.#ask();
      this.#isAsking = false;
      if (reply.type === "aborted") return { type: "cancelled" };
      if (reply.type === "failed")
        return this.#scope.signal.aborted ? { type: "cancelled" } : { type: "provider_failed", failure: reply.failure };

      await this.#journal("model", reply);
      const ending = this.#endingOf(reply);
      const results = ending ? notDone(reply.calls, ending) : await this.#answerer.answerAll(reply.calls);
      this.#turns.push({ turn: reply, results });
      if (ending) return ending;

      await this.#journal("host", results);
      this.#conversation.answer(results);
    }
  }

  async #ask(): Promise<TurnReply> {
    const { signal } = this.#scope;
    const { budget } = this.session;
    const reply = await this.#conversation.turn({
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
    const { maxTurns } = this.#request;
    switch (end.type) {
      case "answered":
        return { type: "answered", answer: text };
      case "refused":
      case "cut_off":
        return end;
      case "called":
      case "unfinished":
        if (this.#scope.signal.aborted) return { type: "cancelled" };
        if (this.session.budget.tokensLeft <= 0) return this.#tokensSpent();
        return this.#turns.length + 1 >= maxTurns ? { type: "turns_spent", allowed: maxTurns } : undefined;
    }
  }

  /** The effective allowance is also capped by the caller's remaining budget. */
  #tokensSpent(): AgentEnding {
    const { tokens, tokensLeft } = this.session.budget;
    return { type: "tokens_spent", allowed: Math.max(0, tokens + tokensLeft), seen: tokens };
  }

  async #runProgram(call: ProgramCall, source: string): Promise<Report> {
    const execution = this.#execution;
    this.#emit({ type: "program_started", execution, callId: call.id, source, hosted: false });
    const scope = this.#scope.with({ above: { session: this.session, execution, callId: call.id } });
    const report = reportOf(await execute(scope, source), scope.limits, scope.gate.tools);
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

  async end(ending: AgentEnding): Promise<AgentReport> {
    await this.session.ended;
    await this.#log.append({ type: "outcome", outcome: JSON.stringify(ending), at: Date.now() });
    await this.#log.end(true);
    this.#emit({ type: "conversation_ended", execution: this.#execution, ending });
    const { model, task, programs } = this.#request;
    return {
      execution: this.#execution,
      ending,
      answer: ending.type === "answered" ? ending.answer : undefined,
      calls: [...this.session.lines],
      usage: { ...this.session.budget.tokenUsage, turns: this.#turns.length, calls: this.session.usage.calls },
      transcript: {
        format: 1,
        model: model.name,
        task,
        programs,
        tools: this.#scope.gate.tools.all.map(({ name }) => name),
        turns: this.#turns,
        ending,
      },
    };
  }

  /** Records an outcome, so that the journal does not show the conversation as running. */
  async abandon(error: unknown): Promise<void> {
    const outcome = JSON.stringify({ type: "crashed", detail: String(error) });
    try {
      await this.#log.append({ type: "outcome", outcome, at: Date.now() });
    } catch {
      // The journal itself may be the cause of the error.
    }
    await this.#log.end(true);
  }

  #journal(from: "model" | "host", message: unknown): Promise<void> {
    return this.#log.append({ type: "message", from, message: JSON.stringify(message), at: Date.now() });
  }

  #emit(event: AgentEvent): void {
    this.#scope.onEvent(event);
  }
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
