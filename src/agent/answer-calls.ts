import PQueue from "p-queue";
import type { GateSession } from "../gate/session.ts";
import type { CallResult, ModelCall, ProgramCall, ToolCall } from "../models/model.ts";
import type { Report } from "../output/report.ts";
import { SEARCH_TOOLS } from "../tools/tool-name.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { refusal, resultOfAnswer, resultOfReport, withFound } from "./call-result.ts";
import { NO_SOURCE, RUN_PROGRAM } from "./run-program.ts";

/** Longest delay of a timer, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface AnswererParts {
  readonly session: GateSession;
  readonly tools: ToolSet;
  /** Names of the tools that the model is told of when a search has found them. */
  readonly deferred: ReadonlySet<string>;
  /** Maximum size of a result that a model reads, in bytes. */
  readonly outputBytes: number;
  /** Undefined where programs do not run locally. */
  readonly runProgram: ((call: ProgramCall, source: string) => Promise<Report>) | undefined;
  /** Journals a call with an unknown caller, which the gate cannot decide. */
  readonly recordRefused: (call: ToolCall) => Promise<void>;
}

/** Answers the calls of a model's turns, each exactly once. */
export class CallAnswerer {
  readonly #parts: AnswererParts;
  /** Calls that may write, and programs, run one after the other in the order of the turn. The gate limits how many others run at once. */
  readonly #inOrder = new PQueue({ concurrency: 1 });

  constructor(parts: AnswererParts) {
    this.#parts = parts;
  }

  answerAll(calls: readonly ModelCall[]): Promise<CallResult[]> {
    return Promise.all(
      calls.map((call) => (this.#mayOverlap(call) ? this.#answer(call) : this.#inOrder.add(() => this.#answer(call)))),
    );
  }

  /** A hosted program decides itself which calls it makes at once. */
  #mayOverlap(call: ModelCall): boolean {
    if (call.type === "program_call") return false;
    return call.caller !== "direct" || (this.#parts.tools.get(call.tool)?.effect ?? "read") === "read";
  }

  #answer(call: ModelCall): Promise<CallResult> {
    return call.type === "program_call" ? this.#runProgram(call) : this.#callTool(call);
  }

  async #callTool(call: ToolCall): Promise<CallResult> {
    const { id: callId, tool, caller, inputText, answerBy } = call;
    const { session, deferred, outputBytes, recordRefused } = this.#parts;
    if (caller === "unknown") {
      await recordRefused(call);
      return refusal(call, "The caller of this call is of an unknown kind, so the call was refused.");
    }
    const late = `The call of ${tool} took longer than the provider of the program waits, and was cancelled.`;
    const timer = answerBy === undefined ? undefined : atTime(answerBy, () => session.giveUp(callId, late));
    try {
      const answer = await session.call({ callId, tool, caller, inputText });
      if (answer) {
        const result = await resultOfAnswer(call, answer, outputBytes, session.share.lane);
        return tool === SEARCH_TOOLS ? withFound(result, answer, deferred) : result;
      }
      return refusal(call, timer?.rang ? `TimeoutError: ${late}` : CANCELLED);
    } finally {
      timer?.stop();
    }
  }

  async #runProgram(call: ProgramCall): Promise<CallResult> {
    const { runProgram, session } = this.#parts;
    if (!runProgram) return refusal(call, "Programs cannot be run in this conversation.", RUN_PROGRAM);
    if (call.source === undefined) return refusal(call, NO_SOURCE, RUN_PROGRAM);
    const refused = await session.countCall({ callId: call.id, tool: RUN_PROGRAM, caller: "direct" });
    if (refused && !refused.ok) return refusal(call, refused.message, RUN_PROGRAM);
    return resultOfReport(call, RUN_PROGRAM, await runProgram(call, call.source));
  }
}

const CANCELLED = "The conversation was ended before this call had an answer.";

/** Acts at a time in milliseconds since 1970; at once where it has passed. */
function atTime(time: number, act: () => Promise<void>): { readonly rang: boolean; readonly stop: () => void } {
  const alarm = { rang: false, stop: () => clearTimeout(timer) };
  const delay = Math.min(Math.max(0, time - Date.now()), MAX_TIMER_MS);
  const timer = setTimeout(() => {
    alarm.rang = true;
    // Only journalling can fail here, and the call itself reports that error.
    act().catch(() => {});
  }, delay);
  return alarm;
}
