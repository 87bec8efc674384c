import PQueue from "p-queue";
import type { GateSession } from "../gate/session.ts";
import type { CallResult, ModelCall, ProgramCall, ToolCall } from "../models/model.ts";
import type { Report } from "../output/report.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { refusal, resultOfAnswer, resultOfReport } from "./call-result.ts";
import { RUN_PROGRAM } from "./run-program.ts";

/** Longest time that a timer can wait, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface AnswererParts {
  readonly session: GateSession;
  readonly tools: ToolSet;
  /** Bytes of one result that a model reads. */
  readonly outputBytes: number;
  /** Undefined where no programs run here. */
  readonly runProgram: ((call: ProgramCall, source: string) => Promise<Report>) | undefined;
  /** Journals a call that the gate cannot be asked about. */
  readonly recordRefused: (call: ToolCall) => Promise<void>;
}

/** Answers the calls of a model's turns: each exactly once, whatever becomes of it. */
export class CallAnswerer {
  readonly #parts: AnswererParts;
  /** What may change something is done one after the other, as the model wrote it. How many of the others run at once is the gate's to say. */
  readonly #inOrder = new PQueue({ concurrency: 1 });

  constructor(parts: AnswererParts) {
    this.#parts = parts;
  }

  answerAll(calls: readonly ModelCall[]): Promise<CallResult[]> {
    return Promise.all(
      calls.map((call) => (this.#mayOverlap(call) ? this.#answer(call) : this.#inOrder.add(() => this.#answer(call)))),
    );
  }

  /** A program at the provider has decided itself what it calls at once. */
  #mayOverlap(call: ModelCall): boolean {
    if (call.type === "program_call") return false;
    return call.caller !== "direct" || (this.#parts.tools.get(call.tool)?.effect ?? "read") === "read";
  }

  #answer(call: ModelCall): Promise<CallResult> {
    return call.type === "program_call" ? this.#runProgram(call) : this.#callTool(call);
  }

  async #callTool(call: ToolCall): Promise<CallResult> {
    const { id: callId, tool, caller, inputText, answerBy } = call;
    const { session, outputBytes, recordRefused } = this.#parts;
    if (caller === "unknown") {
      await recordRefused(call);
      return refusal(call, "It is not known here who makes this call, so it was refused.");
    }
    const late = `The call of ${tool} took longer than the program's provider waits, and was given up.`;
    const timer = answerBy === undefined ? undefined : atTime(answerBy, () => session.giveUp(callId, late));
    try {
      const answer = await session.call({ callId, tool, caller, inputText });
      if (answer) return await resultOfAnswer(call, answer, outputBytes, session.share.lane);
      return refusal(call, timer?.rang ? `TimeoutError: ${late}` : CANCELLED);
    } finally {
      timer?.stop();
    }
  }

  async #runProgram(call: ProgramCall): Promise<CallResult> {
    const { runProgram, session } = this.#parts;
    if (!runProgram) return refusal(call, "No programs can be run here.", RUN_PROGRAM);
    if (call.source === undefined)
      return refusal(call, `${RUN_PROGRAM} takes the program's source as text, and got none.`, RUN_PROGRAM);
    const refused = await session.countCall({ callId: call.id, tool: RUN_PROGRAM, caller: "direct" });
    if (refused && !refused.ok) return refusal(call, refused.message, RUN_PROGRAM);
    return resultOfReport(call, RUN_PROGRAM, await runProgram(call, call.source));
  }
}

const CANCELLED = "The conversation was ended before this call had an answer.";

/** Does something at a time, however far away, at once where it has passed. */
function atTime(time: number, act: () => Promise<void>): { readonly rang: boolean; readonly stop: () => void } {
  const alarm = { rang: false, stop: () => clearTimeout(timer) };
  const delay = Math.min(Math.max(0, time - Date.now()), LONGEST_TIMER_MS);
  const timer = setTimeout(() => {
    alarm.rang = true;
    // Journalling is all that can fail here, and the call itself fails of that too.
    act().catch(() => {});
  }, delay);
  return alarm;
}
