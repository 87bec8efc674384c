import PQueue from "p-queue";
import { after, cancel, now } from "../../clock.ts";
import type { PastCall } from "../../gate/open-call.ts";
import type { GateSession } from "../../gate/session.ts";
import type { CallResult, ModelCall, ProgramCall, ToolCall } from "../../models/model.ts";
import type { Report } from "../../output/report.ts";
import { RUN_PROGRAM, SEARCH_TOOLS } from "../../tools/tool-name.ts";
import type { Effect } from "../../tools/tool.ts";
import type { ToolSet } from "../../tools/tool-set.ts";
import { refusal, resultOfAnswer, type ResultWays, resultOfReport, withFound } from "./call-result.ts";
import { NO_SOURCE } from "./run-program.ts";
import type { Unreplayable, Waiting } from "../../programs/outcome.ts";

export interface AnswererParts {
  readonly session: GateSession;
  readonly tools: ToolSet;
  /** Names of the tools that the model is told of when a search has found them. */
  readonly deferred: ReadonlySet<string>;
  readonly ways: ResultWays;
  /** Undefined if programs do not run locally. Resolves with `WAITS` if the program waits for decisions or results. */
  readonly runProgram: ((call: ProgramCall, source: string) => Promise<EndedProgram | typeof WAITS>) | undefined;
  /** Journals a call that the gate cannot decide: its caller is unknown, or its turn did not allow it. */
  readonly recordRefused: (call: ToolCall) => Promise<void>;
  /** Called with each result once it is there. */
  readonly onResult: (result: CallResult) => void;
  /** Reads from the journal what the calls wait for. */
  readonly waiting: () => Promise<CallsWaiting>;
  /** Told what the calls wait for if programs that cannot be put down are among them: they wait in their sandboxes. */
  readonly onHeld: (waiting: Waiting, cause: Unreplayable) => void;
  /** Says of a call that was ended why it has no answer. */
  readonly unanswered: () => string;
  /** Throws if the conversation belongs to another driver now. */
  readonly checkOwned: () => void;
}

export interface EndedProgram {
  readonly report: Report;
  /** Who approved the program itself. */
  readonly approvedBy: string | undefined;
}

/** A program's execution waits, or a call does. */
export const WAITS = Symbol("waits");

export interface CallsWaiting {
  /** What all calls wait for; undefined if a call can go on. */
  readonly waiting: Waiting | undefined;
  /** Whether the program of a call still waits. */
  readonly isProgramWaiting: (callId: string) => boolean;
}

/** Answers the calls of a model's turns, each exactly once. */
export class CallAnswerer {
  readonly #parts: AnswererParts;
  /**
   * Calls that may write, and programs, run one after the other in the order of the turn. A call that waits for a
   * decision or a result gives its place up. The gate limits how many other calls run at once.
   */
  readonly #inOrder = new PQueue({ concurrency: 1 });
  readonly #unanswered = new Set<string>();
  /** Calls whose programs have stopped to wait. */
  readonly #waitingPrograms = new Set<string>();
  /** Calls whose programs have waited in their sandboxes, and why those cannot be put down. */
  readonly #held = new Map<string, Unreplayable>();
  /** Gives up the place of a call in the order, once it waits. */
  readonly #leaving = new Map<string, () => void>();
  /** Programs that were counted as calls: a program that goes on after a wait is counted once. */
  readonly #counted = new Set<string>();
  /** The effect of each call whose tool's effect depends on the input. */
  readonly #effects = new Map<string, Effect>();
  #changed = Promise.withResolvers<void>();
  #isOver = false;

  constructor(parts: AnswererParts) {
    this.#parts = parts;
    parts.session.onWaiting = (callId) => {
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
        const { waiting, isProgramWaiting } = await this.#parts.waiting();
        const [cause] = calls.flatMap(({ id }) => (this.#unanswered.has(id) ? (this.#held.get(id) ?? []) : []));
        if (waiting && this.#isIdle()) {
          this.#isOver = cause === undefined;
          if (cause === undefined) return waiting;
          this.#parts.onHeld(waiting, cause);
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
    const { session } = this.#parts;
    const waits = (id: string) => this.#waitingPrograms.has(id) || this.#held.has(id) || session.waitsFor(id);
    return [...this.#unanswered].every(waits);
  }

  /** The program of a call waits in its sandbox: others take its place in the order. */
  hold(callId: string, cause: Unreplayable): void {
    this.#held.set(callId, cause);
    this.#leaving.get(callId)?.();
    this.#changed.resolve();
  }

  /** A call that waits leaves the order. */
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
    return (this.#effects.get(call.id) ?? this.#parts.tools.get(call.tool)?.effect ?? "read") === "read";
  }

  /** Asks what calls change if that depends on their inputs: calls that may write run in the order of the turn. */
  async #askEffects(calls: readonly ModelCall[]): Promise<void> {
    const { session, tools } = this.#parts;
    for (const call of calls)
      if (call.type === "tool_call" && tools.get(call.tool)?.effectOf)
        this.#effects.set(call.id, await session.effectOf(call));
  }

  async #answer(call: ModelCall, past: PastCall | undefined): Promise<void> {
    const result = await (call.type === "program_call" ? this.#runProgram(call) : this.#callTool(call, past));
    if (this.#isOver) return;
    this.#parts.checkOwned();
    if (result === WAITS) this.#waitingPrograms.add(call.id);
    else {
      this.#unanswered.delete(call.id);
      this.#parts.onResult(result);
    }
    this.#changed.resolve();
  }

  async #callTool(call: ToolCall, past: PastCall | undefined): Promise<CallResult> {
    const { id: callId, tool, caller, inputText, answerBy, forbidden } = call;
    const { session, tools, deferred, ways, recordRefused, unanswered } = this.#parts;
    if (forbidden !== undefined) {
      await recordRefused(call);
      return refusal(call, forbidden);
    }
    if (caller === "unknown") {
      await recordRefused(call);
      return refusal(call, "The caller of this call is of an unknown kind, so the call was refused.");
    }
    const late = `The call of ${tool} took longer than the provider of the program waits, and was cancelled.`;
    const timer = answerBy === undefined ? undefined : atTime(answerBy, () => session.giveUp(callId, late));
    try {
      const answer = await session.call({ callId, tool, caller, inputText }, past);
      if (answer) {
        const result = await resultOfAnswer(call, answer, { ...ways, source: tools.get(tool)?.source });
        return tool === SEARCH_TOOLS ? withFound(result, answer, deferred) : result;
      }
      return refusal(call, timer?.rang ? `TimeoutError: ${late}` : unanswered());
    } finally {
      timer?.stop();
    }
  }

  async #runProgram(call: ProgramCall): Promise<CallResult | typeof WAITS> {
    const { runProgram, session } = this.#parts;
    if (call.forbidden !== undefined) return refusal(call, call.forbidden);
    if (!runProgram) return refusal(call, "Programs cannot be run in this conversation.");
    if (call.source === undefined) return refusal(call, NO_SOURCE);
    const isCounted = this.#counted.has(call.id);
    this.#counted.add(call.id);
    const refused = isCounted
      ? undefined
      : await session.countCall({ callId: call.id, tool: RUN_PROGRAM, caller: "direct" });
    if (refused && !refused.ok) return refusal(call, refused.message);
    const ended = await runProgram(call, call.source);
    if (ended === WAITS) return WAITS;
    const { redactor } = this.#parts.ways;
    const about = { to: "model", tool: RUN_PROGRAM, callId: call.id } as const;
    const approvedBy =
      redactor && ended.approvedBy !== undefined
        ? (await redactor.text(ended.approvedBy, about)).text
        : ended.approvedBy;
    return resultOfReport(call, { ...ended, approvedBy });
  }
}

const NONE: ReadonlyMap<string, PastCall> = new Map();

/** Acts at a time in milliseconds since 1970; at once if it has passed. */
function atTime(time: number, act: () => Promise<void>): { readonly rang: boolean; readonly stop: () => void } {
  const alarm = { rang: false, stop: () => cancel(timer) };
  const timer = after(time - now(), () => {
    alarm.rang = true;
    // Only journalling can fail here, and the call itself reports that error.
    act().catch(() => {});
  });
  return alarm;
}
