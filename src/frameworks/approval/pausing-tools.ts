import { type ExecutionId, PortcullisError, textOf, hasCode, ignore } from "../../base/index.ts";
import type { JournalRecord } from "../../journal/record.ts";
import type { Report } from "../../executions/output/index.ts";
import type { WaitingApproval } from "../../executions/outcome.ts";
import { CONTINUE_PROGRAM, RUN_PROGRAM } from "../../tools/tool-name.ts";
import { codeOf, type LoopTool, textOfReport } from "../program-tool.ts";
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
  /** Calls of this id that have had results before: some providers begin their ids anew with each reply. */
  readonly answered: number;
  /** Whether the loop asked about the call before this request of its host. */
  readonly isAsked: boolean;
}

interface Begun {
  readonly id: ExecutionId;
  /** Whether a person was shown what it waits for before any call of the loop was approved. */
  readonly isShown: boolean;
}

/** A tool that goes on with a program that waits. */
export const CONTINUE_TOOL: Omit<LoopTool, "run"> & { readonly name: typeof CONTINUE_PROGRAM } = {
  name: CONTINUE_PROGRAM,
  description:
    "Goes on with a program that waits for a person to approve some of its calls. Returns what run_program returns.",
  schema: {
    type: "object",
    properties: { program: { type: "string", description: "the handle that the waiting program was given" } },
    required: ["program"],
    additionalProperties: false,
  },
  isStrict: true,
};

export type PausingTools = ReturnType<typeof pausingTools>;

/**
 * `run_program` and `continue_program` for a loop that asks people between two of its requests. The program runs before the
 * loop asks whether the call needs approval: it does if the program waits for a person by then. An approved call allows
 * the calls that its program waits for, and goes on.
 */
export function pausingTools(programs: WaitingPrograms) {
  /** The programs of calls that were looked at and are not run yet. */
  const begun = new Map<string, Begun>();
  /** Of a call that begins a program: the id that it has if it is the first with this id and code. */
  const keyOf = ({ name, callId, input, answered }: LoopCall): ExecutionId | undefined => {
    const code = name === RUN_PROGRAM ? textOf(input, "code") : undefined;
    return code === undefined ? undefined : programs.idOf(callId, code, answered);
  };
  return {
    /** What a person is asked before the call goes on; undefined if no person has to be asked. */
    async question(call: LoopCall, going: Going): Promise<string | undefined> {
      const looking = lookAt(programs, begun, call, going, true).then(({ report }) => approvalsOf(report));
      const waits = await looking.catch((error: unknown) => {
        // The call itself tells the model what is wrong with it.
        if (hasCode(error, "program_failed")) return [];
        throw error;
      });
      return waits.length === 0 ? undefined : questionText(waits);
    },
    /** Runs a call of the loop. `isApproved`: a person was asked the question of this call, and has approved it. */
    async run(call: LoopCall, going: Going, isApproved: boolean): Promise<string> {
      const { report, isShown } = await lookAt(programs, begun, call, going, false);
      begun.delete(keyOf(call)!);
      const waits = approvalsOf(report);
      const { execution: id } = report;
      if (waits.length === 0 || !isApproved || !isShown) return textOfRun(report, going);
      // The same approval in another request may have decided since.
      const isSame = await wereShown(programs, call, id, waits);
      const after = isSame ? programs.decide(id, going, waits, { allow: true }) : programs.goOn(id, going);
      return textOfRun(await after, going);
    },
    /** Ends the program of a call that a person has denied. */
    async deny(call: LoopCall, note: string | undefined): Promise<void> {
      const key = keyOf(call);
      const id = key === undefined ? handleOf(programs, call.input)?.id : (begun.get(key)?.id ?? key);
      begun.delete(key!);
      // It may have been denied before, and what fails now is tried with the next call.
      if (id !== undefined) await programs.deny(id, note).catch(ignore);
    },
  };
}

/** What the program of a call has come to. `asks`: a person is going to be asked about it. */
async function lookAt(
  programs: WaitingPrograms,
  begun: Map<string, Begun>,
  call: LoopCall,
  going: Going,
  asks: boolean,
) {
  going.signal?.throwIfAborted();
  if (call.name !== CONTINUE_PROGRAM) {
    const code = codeOf(call.input);
    const key = programs.idOf(call.callId, code, call.answered);
    const found = begun.get(key) ?? (await find(programs, call, code, asks));
    begun.set(key, found);
    return { report: await programs.run(found.id, code, going), isShown: found.isShown };
  }
  const handle = handleOf(programs, call.input);
  if (!handle)
    throw new PortcullisError(
      "program_failed",
      `There is no program with this handle. ${CONTINUE_PROGRAM} takes the one that a waiting program was given.`,
    );
  const goingOn = programs.goOn(handle.id, going).catch((error: unknown) => {
    if (hasCode(error, "execution_unknown"))
      throw new PortcullisError("program_failed", "There is no program with this handle. Run it again.");
    throw error;
  });
  return { report: await goingOn, isShown: true };
}

/**
 * The program of a call. One that the loop asked about before is the last with its id and code; if there is none any more,
 * it is begun anew, and nobody was asked about that one. A new call has a program of its own, unless one waits or another
 * person has decided it.
 */
async function find(
  programs: WaitingPrograms,
  { callId, answered, isAsked }: LoopCall,
  code: string,
  asks: boolean,
): Promise<Begun> {
  if (isAsked) {
    let shown: ExecutionId | undefined;
    for (let nth = answered; ; nth += 1) {
      const id = programs.idOf(callId, code, nth);
      if ((await recordsOf(programs, id)).length === 0) break;
      shown = id;
    }
    if (shown !== undefined) return { id: shown, isShown: true };
  }
  const isShown = asks && !isAsked;
  for (let nth = answered; ; nth += 1) {
    const id = programs.idOf(callId, code, nth, isShown);
    const records = await recordsOf(programs, id);
    const isTaken = records.some(({ type }) => type === "outcome") && areOnlyBy(programs, records, programs.by);
    if (!isTaken) return { id, isShown };
  }
}

/** None if there is no such program. */
function recordsOf(programs: WaitingPrograms, id: ExecutionId): Promise<readonly JournalRecord[]> {
  return programs.records(id).catch((error: unknown) => {
    if (hasCode(error, "execution_unknown")) return [];
    throw error;
  });
}

function handleOf(
  programs: WaitingPrograms,
  input: unknown,
): { readonly id: string; readonly wave: string } | undefined {
  const handle = textOf(input, "program") ?? "";
  const dot = handle.lastIndexOf(".");
  const id = handle.slice(0, dot);
  return dot > 0 && programs.has(id) ? { id, wave: handle.slice(dot + 1) } : undefined;
}

/** Whether the person who approved the call was asked about exactly these calls, and the program is where it was then. */
async function wereShown(
  programs: WaitingPrograms,
  call: LoopCall,
  id: string,
  waits: readonly WaitingApproval[],
): Promise<boolean> {
  if (call.name === CONTINUE_PROGRAM) return handleOf(programs, call.input)?.wave === waveOf(waits);
  const records = await programs.records(id);
  // The first question is about what the first driver came to wait for: before any person has decided, or a call expired.
  const claim = records.findIndex(({ type }) => type === "claim");
  const first = claim < 0 ? records : records.slice(0, claim);
  const held = new Set(first.flatMap((record) => (record.type === "call" ? [record.call] : [])));
  // Calls of a program's agents stand in journals of their own.
  const isFirst = ({ callId }: WaitingApproval) => held.has(callId) || (claim < 0 && callId.includes("/"));
  return waits.every(isFirst) && areOnlyBy(programs, records);
}

/** Whether nobody has decided calls of a program but the loop's own rule, and `by`. */
function areOnlyBy({ ruleBy }: WaitingPrograms, records: readonly JournalRecord[], by?: string): boolean {
  return records.every(
    (record) =>
      record.type !== "decision" ||
      record.remembered !== undefined ||
      record.by === ruleBy ||
      (by !== undefined && record.by === by),
  );
}

function textOfRun(report: Report, { signal }: Going): string {
  const { outcome, execution } = report;
  if (outcome.type !== "waiting") return textOfReport(report, signal);
  return outcome.approvals.length === 0 ? WAITS_FOR_CLIENT : waitsText(execution, outcome.approvals);
}

function approvalsOf({ outcome }: Report): readonly WaitingApproval[] {
  return outcome.type === "waiting" ? outcome.approvals : [];
}
