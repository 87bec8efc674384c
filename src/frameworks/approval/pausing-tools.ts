import { PortcullisError } from "../../errors.ts";
import type { Report } from "../../output/report.ts";
import type { WaitingApproval } from "../../programs/outcome.ts";
import { CONTINUE_PROGRAM, RUN_PROGRAM } from "../../tools/tool-name.ts";
import { textOf } from "../../values/fields.ts";
import { codeOf, notRun, textOfReport } from "../program-tool.ts";
import {
  type Going,
  questionText,
  type WaitingPrograms,
  waitsText,
  waveOf,
  WAITS_FOR_CLIENT,
} from "./waiting-programs.ts";

/** A call of `run_program` or of `continue_program`, as a loop has it. */
export interface LoopCall {
  readonly name: string;
  readonly callId: string;
  readonly input: unknown;
}

export const CONTINUE_SCHEMA = {
  type: "object",
  properties: { program: { type: "string", description: "the handle that the waiting program was given" } },
  required: ["program"],
  additionalProperties: false,
} as const;

export const CONTINUE_DESCRIPTION =
  "Goes on with a program that waits for a person to approve some of its calls. Returns what run_program returns.";

/**
 * `run_program` and `continue_program` for a loop that asks people between two of its requests. The program runs before the
 * loop asks whether the call needs approval: it does if the program waits for a person by then. An approved call allows
 * the calls that its program waits for, and goes on.
 */
export class PausingTools {
  readonly #programs: WaitingPrograms;
  readonly #denied = new Set<string>();

  constructor(programs: WaitingPrograms) {
    this.#programs = programs;
  }

  /** What a person is asked before the call goes on; undefined if no person has to be asked. */
  async question(call: LoopCall, going: Going): Promise<string | undefined> {
    const waits = await this.#look(call, going).then(approvalsOf, (error: unknown) => {
      // The call itself tells the model what is wrong with it.
      if (PortcullisError.is(error) && error.code === "program_failed") return [];
      throw error;
    });
    return waits.length === 0 ? undefined : questionText(waits);
  }

  /** Runs a call of the loop. `isApproved`: a person was asked the question of this call, and has approved it. */
  async run(call: LoopCall, going: Going, isApproved: boolean): Promise<string> {
    const report = await this.#look(call, going);
    const waits = approvalsOf(report);
    const { execution: id } = report;
    if (waits.length === 0 || !isApproved || !(await this.#wereShown(call, id, waits)))
      return this.#text(report, going);
    const decisions = this.#programs.decisionsOf(waits, { allow: true });
    const gone = await this.#programs.decide(id, going, decisions).catch(notRun);
    return this.#text(gone, going);
  }

  /** Ends the program of a call that a person has denied. */
  async deny(call: LoopCall, note: string | undefined): Promise<void> {
    const id = this.#idOf(call);
    if (id === undefined || this.#denied.has(id)) return;
    this.#denied.add(id);
    await this.#programs.deny(id, note).catch(() => this.#denied.delete(id));
  }

  #idOf({ name, callId, input }: LoopCall): string | undefined {
    if (name === CONTINUE_PROGRAM) return this.#handleOf(input)?.id;
    const code = name === RUN_PROGRAM ? textOf(input, "code") : undefined;
    return code === undefined ? undefined : this.#programs.idOf(callId, code);
  }

  #handleOf(input: unknown): { readonly id: string; readonly wave: string } | undefined {
    const handle = textOf(input, "program") ?? "";
    const dot = handle.lastIndexOf(".");
    const id = handle.slice(0, dot);
    return dot > 0 && this.#programs.has(id) ? { id, wave: handle.slice(dot + 1) } : undefined;
  }

  /** What the program of a call has come to. */
  async #look(call: LoopCall, going: Going): Promise<Report> {
    going.signal?.throwIfAborted();
    if (call.name !== CONTINUE_PROGRAM) {
      const code = codeOf(call.input);
      return this.#programs.run(this.#programs.idOf(call.callId, code), code, going).catch(notRun);
    }
    const handle = this.#handleOf(call.input);
    if (!handle)
      throw new PortcullisError(
        "program_failed",
        `There is no program with this handle. ${CONTINUE_PROGRAM} takes the one that a waiting program was given.`,
      );
    return this.#programs.goOn(handle.id, going).catch((error: unknown) => {
      if (PortcullisError.is(error) && error.code === "execution_unknown")
        throw new PortcullisError("program_failed", "There is no program with this handle. Run it again.");
      return notRun(error);
    });
  }

  /** Whether the person who approved the call was asked about exactly these calls, and the program is where it was then. */
  async #wereShown(call: LoopCall, id: string, waits: readonly WaitingApproval[]): Promise<boolean> {
    if (call.name === CONTINUE_PROGRAM) return this.#handleOf(call.input)?.wave === waveOf(waits);
    const records = await this.#programs.records(id).catch(notRun);
    // The first question is about what the program waits for before any person has decided anything.
    const decided = new Set(records.flatMap((record) => (record.type === "decision" ? [record] : [])));
    return [...decided].every(({ remembered, by }) => remembered !== undefined || by === this.#programs.ruleBy);
  }

  #text(report: Report, { signal }: Going): string {
    const { outcome, execution } = report;
    if (outcome.type !== "waiting") return textOfReport(report, signal);
    return outcome.approvals.length === 0 ? WAITS_FOR_CLIENT : waitsText(execution, outcome.approvals);
  }
}

function approvalsOf({ outcome }: Report): readonly WaitingApproval[] {
  return outcome.type === "waiting" ? outcome.approvals : [];
}
