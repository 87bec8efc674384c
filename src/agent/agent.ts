import { randomUUID } from "node:crypto";
import type { CallLine } from "../gate/open-call.ts";
import type { GateSession } from "../gate/session.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { ExecutionLog } from "../journal/execution-log.ts";
import { JOURNAL_FORMAT } from "../journal/record.ts";
import type { CallResult, Conversation, Model, ModelCall, ModelTurn, ProgramCall, TurnReply } from "../models/model.ts";
import { type Report, reportOf } from "../output/report.ts";
import { execute } from "../programs/execute.ts";
import type { Caller } from "../tools/tool.ts";
import { toolDigest } from "../tools/tool-digest.ts";
import type { AgentScope } from "./agent-scope.ts";
import { CallAnswerer } from "./answer-calls.ts";
import { refusal } from "./call-result.ts";
import type { AgentEnding } from "./ending.ts";
import type { AgentEvent } from "./event.ts";
import { openingFor } from "./opening.ts";
import { RUN_PROGRAM } from "./run-program.ts";
import type { AgentUsage, ProgramsOption, Transcript, TranscriptTurn } from "./transcript.ts";

/** What a conversation is about, checked. */
export interface AgentRequest {
  readonly model: Model;
  readonly task: string;
  readonly programs: ProgramsOption;
  readonly maxTurns: number;
  readonly maxTokens: number;
}

/** A conversation, ended. */
export interface AgentReport {
  /** Id under which the journal holds it. */
  readonly execution: ExecutionId;
  readonly ending: AgentEnding;
  /** Undefined unless the ending is `answered`. */
  readonly answer: string | undefined;
  /**
   * All calls: the model's own, those of its programs and those of agents that are its tools. One of a program that ran
   * here has the ids of both, like `call_2/17`, and one of an agent that of its call too.
   */
  readonly calls: readonly CallLine[];
  readonly usage: AgentUsage;
  readonly transcript: Transcript;
}

/**
 * Gives a model a task and lets it work: a turn, its calls answered, the next turn, until it answers or may not go on.
 * Whatever the model or its provider does is an ending. Rejects only for what the model cannot be asked at all, and
 * where the journal refuses to be written or the sandbox has no guest to give.
 */
export async function runAgent(scope: AgentScope, request: AgentRequest): Promise<AgentReport> {
  const { model, task, programs } = request;
  const conversation = await model.converse(openingFor(model, scope.gate.tools, programs, scope.language));
  // Where one of several calls brings the conversation down, the programs beside it and after it end too.
  const over = new AbortController();
  const signal = AbortSignal.any([scope.signal, over.signal]);
  const talk = await Talk.begin(scope.with({ signal }), request, conversation);
  const onAbort = () => talk.session.close();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    conversation.say(task);
    return await talk.end(await talk.untilEnding());
  } catch (error) {
    await talk.abandon(error);
    throw error;
  } finally {
    over.abort();
  }
}

/** Most calls of one turn. The widest that models make on purpose are some hundreds, of a program at its provider. */
const MOST_CALLS = 1000;

/** As whom a model's conversation calls, and whose tools it knows of. */
const ROLES: Readonly<
  Record<ProgramsOption, { readonly callers: readonly Caller[]; readonly knows: readonly Caller[] }>
> = {
  none: { callers: ["direct"], knows: ["direct"] },
  local: { callers: ["direct"], knows: ["direct", "programmatic"] },
  hosted: { callers: ["direct", "programmatic"], knows: ["direct", "programmatic"] },
};

class Talk {
  readonly session: GateSession;
  readonly #execution: string;
  readonly #scope: AgentScope;
  readonly #request: AgentRequest;
  readonly #conversation: Conversation;
  readonly #log: ExecutionLog;
  readonly #answerer: CallAnswerer;
  readonly #turns: TranscriptTurn[] = [];

  private constructor(
    execution: string,
    scope: AgentScope,
    request: AgentRequest,
    conversation: Conversation,
    log: ExecutionLog,
  ) {
    this.#execution = execution;
    this.#scope = scope;
    this.#request = request;
    this.#conversation = conversation;
    this.#log = log;
    const { programs, maxTokens } = request;
    const { gate, limits, tenant, above, onEvent } = scope;
    this.session = gate.open({
      execution,
      tenant,
      ...ROLES[programs],
      limits,
      above,
      maxTokens,
      scope,
      record: (record) => log.append(record),
      onEvent,
    });
    this.#answerer = new CallAnswerer({
      session: this.session,
      tools: gate.tools,
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

  static async begin(scope: AgentScope, request: AgentRequest, conversation: Conversation): Promise<Talk> {
    const execution = randomUUID();
    const { model, task } = request;
    const { gate, journal, tenant, limits, above, onEvent } = scope;
    const log = await ExecutionLog.create(journal, {
      type: "header",
      kind: "conversation",
      format: JOURNAL_FORMAT,
      execution,
      tenant,
      startedAt: Date.now(),
      model: model.name,
      task,
      tools: gate.tools.all.map((tool) => ({ name: tool.name, digest: toolDigest(tool) })),
      limits,
      versions: { node: process.versions.node },
      ...(above ? { parent: { execution: above.execution, call: above.callId } } : {}),
    });
    onEvent({ type: "conversation_started", execution, model: model.name });
    return new Talk(execution, scope, request, conversation, log);
  }

  /** The loop. */
  async untilEnding(): Promise<AgentEnding> {
    for (;;) {
      if (this.#scope.signal.aborted) return { type: "cancelled" };
      // Agents that are its tools, or that stand beside it, may have used what was left.
      if (this.session.budget.tokensLeft <= 0) return this.#tokensSpent();
      const reply = await this.#ask();
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
      mostTokens: budget.tokensLeft,
      onText: (text) => this.#tell({ type: "text", execution: this.#execution, text }),
    });
    if (reply.type === "aborted") return reply;
    const usage = reply.usage ?? { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
    budget.takeTokens(usage);
    this.#tell({ type: "turn_ended", execution: this.#execution, turn: this.#turns.length + 1, usage });
    if (reply.type !== "turn") return reply;
    if (reply.calls.length > MOST_CALLS) return tooManyCalls(reply);
    this.#tellHosted(reply);
    return reply;
  }

  /** Why the conversation ends with this turn, if it does. What a model would call in the last turn it may have, nobody would read. */
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

  /** What it was allowed is less than it was given where whoever called it had less left. */
  #tokensSpent(): AgentEnding {
    const { tokens, tokensLeft } = this.session.budget;
    return { type: "tokens_spent", allowed: Math.max(0, tokens + tokensLeft), seen: tokens };
  }

  async #runProgram(call: ProgramCall, source: string): Promise<Report> {
    const execution = this.#execution;
    this.#tell({ type: "program_started", execution, callId: call.id, source, hosted: false });
    const scope = this.#scope.with({ above: { session: this.session, execution, callId: call.id } });
    const report = reportOf(await execute(scope, source), scope.limits, scope.gate.tools);
    const { outcome, output } = report;
    this.#tell({ type: "program_ended", execution, callId: call.id, outcome, isError: output.isError, hosted: false });
    return report;
  }

  #tellHosted({ hosted }: ModelTurn): void {
    for (const news of hosted) {
      const about = { execution: this.#execution, callId: news.program, hosted: true };
      if (news.type === "hosted_program_started")
        this.#tell({ type: "program_started", ...about, source: news.source });
      else this.#tell({ type: "program_ended", ...about, isError: news.isError });
    }
  }

  async end(ending: AgentEnding): Promise<AgentReport> {
    await this.#log.append({ type: "outcome", outcome: JSON.stringify(ending), at: Date.now() });
    this.#tell({ type: "conversation_ended", execution: this.#execution, ending });
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

  /** The journal is not to keep it as one that still runs. */
  async abandon(error: unknown): Promise<void> {
    const outcome = JSON.stringify({ type: "crashed", detail: String(error) });
    try {
      await this.#log.append({ type: "outcome", outcome, at: Date.now() });
    } catch {
      // It may be the journal that has failed.
    }
  }

  #journal(from: "model" | "host", message: unknown): Promise<void> {
    return this.#log.append({ type: "message", from, message: JSON.stringify(message), at: Date.now() });
  }

  #tell(event: AgentEvent): void {
    this.#scope.onEvent(event);
  }
}

function tooManyCalls({ calls, usage }: ModelTurn): TurnReply {
  const message = `The reply makes ${calls.length} calls, more than the ${MOST_CALLS} that one turn may make, and nothing of it was done.`;
  return { type: "failed", failure: { code: "reply_invalid", message }, usage };
}

function notDone(calls: readonly ModelCall[], ending: AgentEnding): CallResult[] {
  const tool = (call: ModelCall) => (call.type === "tool_call" ? call.tool : RUN_PROGRAM);
  return calls.map((call) =>
    refusal(call, `It was not done, because the conversation had ended (${ending.type}).`, tool(call)),
  );
}
