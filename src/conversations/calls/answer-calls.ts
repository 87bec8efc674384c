import PQueue from "p-queue";
import { after, cancel, now } from "../../base/index.ts";
import type { PastCall } from "../../gate/open-call.ts";
import type { GateSession } from "../../gate/session.ts";
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
import type { ConversationSpan } from "../../gate/telemetry/telemetry.ts";
import { RUN_PROGRAM, SEARCH_TOOLS } from "../../tools/tool-name.ts";
import type { Effect } from "../../tools/tool.ts";
import type { ToolSet } from "../../tools/tool-set.ts";
import type { AgentScope } from "../agent-scope.ts";
import { checkOwned } from "../drive/ask-model.ts";
import { unansweredText } from "../drive/interruption.ts";
import type { LiveConversation } from "../drive/live-conversation.ts";
import { standingOfConversation } from "../from-journal/conversation-standing.ts";
import { refusal, resultOfAnswer, resultOfReport, type ResultWays, withFound } from "./call-result.ts";
import { childExecution } from "./child-execution.ts";
import type { FailedProgram } from "./failed-programs.ts";
import { NO_SOURCE } from "./run-program.ts";

const WAITS = Symbol("waits");

/** Answers the calls of a model's turns, each exactly once. */
export class CallAnswerer {
  readonly #live: LiveConversation;
  readonly #scope: AgentScope;
  readonly #session: GateSession;
  readonly #span: ConversationSpan | undefined;
  readonly #ways: ResultWays;
  /**
   * Calls that may write, and programs, run one after the other in the order of the turn. A call that waits for a
   * decision or a result gives its place up. The gate limits how many other calls run at once.
   */
  readonly #inOrder = new PQueue({ concurrency: 1 });
  readonly #unanswered = new Set<string>();
  readonly #waitingPrograms = new Set<string>();
  /** Calls whose programs have waited in their sandboxes, and why those cannot be put down. */
  readonly #held = new Map<string, Unreplayable>();
  readonly #leaving = new Map<string, () => void>();
  /** Programs that were counted as calls: a program that goes on after a wait is counted once. */
  readonly #counted = new Set<string>();
  readonly #effects = new Map<string, Effect>();
  #changed = Promise.withResolvers<void>();
  #isOver = false;

  constructor(live: LiveConversation, scope: AgentScope, session: GateSession, span: ConversationSpan | undefined) {
    this.#live = live;
    this.#scope = scope;
    this.#session = session;
    this.#span = span;
    this.#ways = live.resultWays(session.share.lane);
    session.onWaiting = (callId) => {
      this.#leaving.get(callId)?.();
      this.#changed.resolve();
    };
  }

  /**
   * Answers these calls. Resolves once all have a result, or with what the calls without a result wait for. `past` is
   * what the journal says of calls that another driver has left open.
   */
  async answerAll(
    calls: readonly ModelCall[],
    past: ReadonlyMap<string, PastCall> = NONE,
  ): Promise<Waiting | undefined> {
    const failed = Promise.withResolvers<never>();
    const begin = (call: ModelCall) => this.#begin(call, past.get(call.id)).catch(failed.reject);
    // The rejection may come after the calls were answered.
    failed.promise.catch(() => {});
    for (const { id } of calls) this.#unanswered.add(id);
    await this.#askEffects(calls);
    for (const call of calls) void begin(call);
    for (;;) {
      if (this.#unanswered.size === 0) return undefined;
      // Before the journal is read: what changes meanwhile is looked at again.
      this.#changed = Promise.withResolvers();
      if (this.#isIdle()) {
        const { waiting, isProgramWaiting } = await this.#waiting();
        const [cause] = calls.flatMap(({ id }) => (this.#unanswered.has(id) ? (this.#held.get(id) ?? []) : []));
        if (waiting && this.#isIdle()) {
          this.#isOver = cause === undefined;
          if (cause === undefined) return waiting;
          // Programs that cannot be put down wait in their sandboxes.
          this.#scope.onEvent({
            type: "conversation_waiting",
            execution: this.#live.execution,
            waiting,
            held: cause,
          });
        }
        for (const call of calls) {
          if (isProgramWaiting(call.id) || !this.#waitingPrograms.delete(call.id)) continue;
          void begin(call);
        }
      }
      // A call that can go on says so, for instance because its time to wait is over. Reading on would keep its timer
      // from running.
      await Promise.race([this.#changed.promise, failed.promise]);
    }
  }

  #isIdle(): boolean {
    const waits = (id: string) => this.#waitingPrograms.has(id) || this.#held.has(id) || this.#session.waitsFor(id);
    return [...this.#unanswered].every(waits);
  }

  /** What all calls wait for, as the journal tells it; undefined if a call can go on. */
  async #waiting() {
    const past = await this.#live.read();
    const standing = standingOfConversation(past);
    const waiting = standing.state === "waiting" ? standing.waiting : undefined;
    return {
      waiting: waiting && (await shownWaiting(waiting, this.#scope.redactor)),
      isProgramWaiting: (callId: string) => {
        const { program, driven = false } = past.open.get(callId) ?? {};
        return program !== undefined && standingOf(program.state, driven).state === "waiting";
      },
    };
  }

  async #begin(call: ModelCall, past: PastCall | undefined): Promise<void> {
    if (this.#mayOverlap(call)) return this.#answer(call, past);
    await this.#inOrder.add(async () => {
      const left = Promise.withResolvers<void>();
      this.#leaving.set(call.id, left.resolve);
      const answering = this.#answer(call, past);
      await Promise.race([answering, left.promise]);
      this.#leaving.delete(call.id);
    });
  }

  /** A hosted program decides itself which calls it makes at once. */
  #mayOverlap(call: ModelCall): boolean {
    if (call.type === "program_call") return false;
    if (call.caller !== "direct") return true;
    return (this.#effects.get(call.id) ?? this.#tools.get(call.tool)?.effect ?? "read") === "read";
  }

  /** Asks what calls change if that depends on their inputs: calls that may write run in the order of the turn. */
  async #askEffects(calls: readonly ModelCall[]): Promise<void> {
    for (const call of calls)
      if (call.type === "tool_call" && this.#tools.get(call.tool)?.effectOf)
        this.#effects.set(call.id, await this.#session.effectOf(call));
  }

  get #tools(): ToolSet {
    return this.#scope.gate.tools;
  }

  async #answer(call: ModelCall, past: PastCall | undefined): Promise<void> {
    const result = await (call.type === "program_call" ? this.#runProgram(call) : this.#callTool(call, past));
    if (this.#isOver) return;
    checkOwned(this.#scope.signal);
    if (result === WAITS) this.#waitingPrograms.add(call.id);
    else {
      this.#unanswered.delete(call.id);
      this.#live.takeResult(result);
    }
    this.#changed.resolve();
  }

  async #callTool(call: ToolCall, past: PastCall | undefined): Promise<CallResult> {
    const { id: callId, tool, caller, inputText, answerBy, forbidden } = call;
    const session = this.#session;
    if (forbidden !== undefined) return this.#refused(call, forbidden);
    if (caller === "unknown")
      return this.#refused(call, "The caller of this call is of an unknown kind, so the call was refused.");
    const late = `The call of ${tool} took longer than the provider of the program waits, and was cancelled.`;
    const timer = answerBy === undefined ? undefined : atTime(answerBy, () => session.giveUp(callId, late));
    try {
      const answer = await session.call({ callId, tool, caller, inputText }, past);
      if (answer) {
        const result = await resultOfAnswer(call, answer, { ...this.#ways, source: this.#tools.get(tool)?.source });
        return tool === SEARCH_TOOLS ? withFound(result, answer, this.#live.opening.deferred) : result;
      }
      return refusal(call, timer?.rang ? `TimeoutError: ${late}` : unansweredText(this.#scope.signal));
    } finally {
      timer?.stop();
    }
  }

  /** Journals a call that the gate cannot decide: its caller is unknown, or its turn did not allow it. */
  async #refused(call: ToolCall, why: string): Promise<CallResult> {
    const { id, tool, caller } = call;
    const decided = { decision: "refused", code: "caller_not_allowed", at: now() } as const;
    await this.#live.log.append({ type: "call", call: id, tool, caller, ...decided });
    return refusal(call, why);
  }

  async #runProgram(call: ProgramCall): Promise<CallResult | typeof WAITS> {
    if (call.forbidden !== undefined) return refusal(call, call.forbidden);
    if (this.#live.request.programs !== "local") return refusal(call, "Programs cannot be run in this conversation.");
    if (call.source === undefined) return refusal(call, NO_SOURCE);
    if (!this.#counted.has(call.id)) {
      this.#counted.add(call.id);
      const refused = await this.#session.countCall({ callId: call.id, tool: RUN_PROGRAM, caller: "direct" });
      if (refused && !refused.ok) return refusal(call, refused.message);
    }
    return this.#execute(call, call.source);
  }

  async #execute(call: ProgramCall, source: string): Promise<CallResult | typeof WAITS> {
    const { execution, parts, artifacts: space, failed, request } = this.#live;
    const { allowChangedTools, asks } = parts;
    const { above: caller, journal, gate, observed, telemetry, redactor, onEvent: tell } = this.#scope;
    const callId = call.id;
    tell({ type: "program_started", execution, callId, source, hosted: false });
    // The call of an agent that is a tool cannot wait: its caller would have to.
    const above = { session: this.#session, execution, callId, used: failed.used, canWait: caller === undefined };
    const child = childExecution(execution, callId);
    const onEvent: AgentScope["onEvent"] = (event) => {
      tell(event);
      if (event.type !== "execution_waiting" || event.held === undefined || event.execution !== child) return;
      // It waits in its sandbox: others take its place in the order.
      this.#held.set(callId, event.held);
      this.#leaving.get(callId)?.();
      this.#changed.resolve();
    };
    const scope = { ...this.#scope, onEvent, above, artifacts: { space, prefix: `${callId}/` } };
    const startedAt = now();
    const corrects = await this.#correctedBy(callId);
    const run = () => executeOnce(scope, source, child, { allowChangedTools, asks, corrects });
    const ended = await (this.#span ? this.#span.run(run) : run());
    // A program that was refused before it started is not in the journal, and corrects nothing.
    if (ended.kept) failed.begin(callId, corrects);
    if (ended.ending.type === "waiting") return WAITS;
    // A journal in memory may have deleted it as soon as it ended.
    const hasFailed = ended.kept !== undefined && ended.ending.type !== "completed";
    const isKnown = hasFailed && (await findIfKnown(journal, child)) !== undefined;
    if (hasFailed) failed.fail(callId, isKnown ? { execution: child, startedAt, turn: this.#turn } : undefined);
    const isCorrected = corrects && ended.ending.type === "completed";
    const corrected = isCorrected && (await ifKnown(() => readOwn(this.#scope, child, NO_ITEMS)));
    if (corrected) failed.note(callId, corrected);
    const isGivenAgain = isKnown && request.reuseResults !== "never";
    const report = reportOf(ended, gate.tools, { isGivenAgain, shown: observed?.shown });
    const { outcome, output, usage } = report;
    telemetry?.noteOutput(usage.bytesOut);
    tell({ type: "program_ended", execution, callId, outcome, isError: output.isError, hosted: false });
    const about = { to: "model", tool: RUN_PROGRAM, callId } as const;
    const by = ended.approvedBy;
    const approvedBy = redactor && by !== undefined ? (await redactor.text(by, about)).text : by;
    return resultOfReport(call, { report, approvedBy });
  }

  /** The programs that the program of a call corrects. What was read is given again of the last one alone. */
  async #correctedBy(callId: string): Promise<Correction | undefined> {
    const { failed, request, state } = this.#live;
    const { journal, tenant, language, gate } = this.#scope;
    if (failed.corrected.has(callId)) return failed.corrected.get(callId);
    const corrected: FailedProgram[] = [];
    for (const one of request.reuseResults === "never" ? [] : failed.before(this.#turn))
      if (await isReadable({ journal, tenant, language }, one.execution)) corrected.push(one);
      else failed.forget(one.execution);
    const last = corrected.pop();
    if (!last) return undefined;
    const hasChanged = last.isOld || changedSince(state.calls.all, gate.tools, last.startedAt);
    const corrects = correctedBy({ corrects: last.execution, maxAgeMs: hasChanged ? 0 : undefined });
    const besides = corrected.map(({ execution }) => execution);
    return corrects && { ...corrects, ...(besides.length > 0 && { besides }) };
  }

  get #turn(): number {
    return this.#live.state.turns.length - 1;
  }
}

/** Whether the model itself has changed something since: what was read before may be otherwise now. */
function changedSince(calls: readonly KnownCall[], tools: ToolSet, since: number): boolean {
  return calls.some(
    ({ tool, started, effect, at }) =>
      started && at >= since && (effect ?? tools.get(tool)?.effect ?? "write") !== "read",
  );
}

const NONE: ReadonlyMap<string, PastCall> = new Map();

function atTime(time: number, act: () => Promise<void>): { readonly rang: boolean; readonly stop: () => void } {
  const alarm = { rang: false, stop: () => cancel(timer) };
  const timer = after(time - now(), () => {
    alarm.rang = true;
    // Only journalling can fail here, and the call itself reports that error.
    act().catch(() => {});
  });
  return alarm;
}
