import type { CallRecord, JournalRecord } from "../../journal/record.ts";
import { notRun, textOfReport } from "../program-tool.ts";
import type { RunOptions } from "../program-tool.ts";
import { fieldOf, textOf } from "../../base/index.ts";
import type { Decision } from "../../executions/decide.ts";
import { type Going, questionText, type WaitingPrograms, WAITS_FOR_CLIENT } from "./waiting-programs.ts";

/** Answers of one node that are passed over at most: `interrupt` interrupts once there are no more. */
const MOST_ANSWERS = 10_000;

/** Names of what an answer gives back: a call that is asked about for the first time has no `hold` to give. */
const answerOf = (hold: number) =>
  hold === 1 ? "{ program, callId, allow }" : `{ program, callId, hold: ${hold}, allow }`;

/** `interrupt` of `@langchain/langgraph`. */
export type Interrupt = (value: never) => unknown;

/**
 * What an interrupt gives to the host: one call of a program that waits for a person. `{ program, callId, allow }` answers it, with
 * `hold` from the second time on.
 */
export interface ProgramInterrupt {
  readonly type: "portcullis_approval";
  /** Id of the program's execution. */
  readonly program: string;
  readonly callId: string;
  /** Which time the call waits, from 1: an answer that is sent twice decides no later one. */
  readonly hold: number;
  readonly tool: string;
  readonly input: unknown;
  /** The input as the program sent it, if the tool's schema has made another one of it. */
  readonly rawInput?: unknown;
  /** The question, as a text for a person. */
  readonly question: string;
}

/**
 * Runs a program in a node of a graph. A node that is interrupted is run again from its beginning, where `interrupt` gives
 * the answers so far in their order. So there is one interrupt for each time that a call was held, in the order of the
 * journal, also if another person has decided it since. Other tools of the node, and this one in other states, may take the
 * answers in another order: each answer names its call, and decides no other.
 */
export async function runInterrupted(
  programs: WaitingPrograms,
  interrupt: Interrupt,
  { id, code }: { readonly id: string; readonly code: string },
  going: Going & Pick<RunOptions, "signal"> & { readonly before: Promise<void> | undefined },
): Promise<string> {
  let report = await programs.run(id, code, going).catch(notRun);
  await going.before;
  for (let asked = 0; ;) {
    const held = heldIn(await programs.records(id).catch(notRun));
    if (asked === held.length) {
      const { outcome } = report;
      return outcome.type === "waiting" ? WAITS_FOR_CLIENT : textOfReport(report, going.signal);
    }
    for (const { call, tool } of held.slice(asked)) {
      // An answer to the first question about a call decides no later one: it may have been made meanwhile.
      const isLatest = held.findLastIndex((one) => one.call === call) === asked;
      asked += 1;
      const hold = held.slice(0, asked).filter((one) => one.call === call).length;
      const mayWait = isLatest && report.outcome.type === "waiting";
      const waits = mayWait ? await programs.approval(id, call).catch(notRun) : undefined;
      const question = waits
        ? questionText([waits])
        : `Call ${call} of ${tool} was decided already. Any answer goes on.`;
      const { input, rawInput } = waits ?? {};
      const raw = rawInput === undefined ? {} : { rawInput };
      const about = { program: id, callId: call, hold, tool, input, ...raw, question };
      const decision = answerTo({ type: "portcullis_approval", ...about }, interrupt);
      if (waits) report = await programs.decide(id, going, programs.decisionsOf([waits], decision)).catch(notRun);
    }
  }
}

/** The times that a call was held for a person, in their order. Where a remembered decision was repeated, no one was asked. */
function heldIn(records: readonly JournalRecord[]): readonly CallRecord[] {
  const repeated = new Set(
    records.flatMap((record) => (record.type === "decision" && record.remembered !== undefined ? [record.call] : [])),
  );
  return records.flatMap((record) =>
    record.type === "call" && record.decision === "held" && !repeated.has(record.call) ? [record] : [],
  );
}

/** The answer that names the call. Others are passed over. */
function answerTo(about: ProgramInterrupt, interrupt: Interrupt): Decision {
  const { program, callId, hold } = about;
  let { question } = about;
  for (let n = 0; n < MOST_ANSWERS; n += 1) {
    const answer = interrupt({ ...about, question } as never);
    const isNamed = textOf(answer, "program") === program && textOf(answer, "callId") === callId;
    if (isNamed && (fieldOf(answer, "hold") ?? 1) === hold) {
      const note = textOf(answer, "note");
      return { allow: fieldOf(answer, "allow") === true, ...(note === undefined ? {} : { note }) };
    }
    question = `The answer before did not name this call, and decided nothing about it. Resume with ${answerOf(hold)}.\n${about.question}`;
  }
  return notRun(new Error("`interrupt` gives answers to other calls only, without end."));
}
