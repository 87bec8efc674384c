import { fieldOf, textOf } from "../base/index.ts";
import { type WaitingPrograms, type Going, questionText, WAITS_FOR_CLIENT } from "./approval/waiting-programs.ts";
import {
  codeOf,
  type LoopTool,
  runWithProgress,
  type WritableSchema,
  notRun,
  textOfReport,
  type RunOptions,
} from "./program-tool.ts";
import type { CallRecord, JournalRecord } from "../journal/record.ts";
import type { Decision } from "../executions/decide.ts";

/** The arguments of LangChain's `tool(func, fields)`. */
export interface LangChainTool {
  /** Yields how far the program has come, and returns the text for the model. Rejects if the tool failed. */
  readonly func: (
    input: unknown,
    config?: { readonly signal?: AbortSignal },
  ) => AsyncGenerator<string, string, undefined>;
  readonly fields: { readonly name: string; readonly description: string; readonly schema: WritableSchema };
}

export function langChainTool(tool: LoopTool): LangChainTool {
  return {
    async *func(input, config) {
      const { running, progress } = runWithProgress(tool, input, config?.signal);
      yield* progress;
      return running;
    },
    fields: fieldsOf(tool),
  };
}

/** Like `langChainTool`, for a graph with a checkpointer: a call that waits for a person interrupts the node. */
export function langChainPausingTool(
  tool: LoopTool,
  programsOf: (node: string) => WaitingPrograms,
  interrupt: Interrupt,
): LangChainTool {
  /** Of each node that runs, when its latest program has asked all: a node has to ask in the same order each time. */
  const asking = new Map<string, Promise<void>>();
  return {
    // Nothing is yielded: a node that is interrupted would yield it again.
    // oxlint-disable-next-line require-yield
    async *func(input, config) {
      const code = codeOf(input);
      const callId = textOf(fieldOf(config, "toolCall"), "id") ?? "";
      const configurable = fieldOf(config, "configurable");
      // The namespace is that of this run of the node, over its interrupts, and in no other run.
      const node = JSON.stringify([textOf(configurable, "thread_id"), textOf(configurable, "checkpoint_ns")]);
      const programs = programsOf(node);
      const going = { rule: () => "unruled" as const, signal: config?.signal, before: asking.get(node) };
      const asked = Promise.withResolvers<void>();
      asking.set(node, asked.promise);
      try {
        return await runInterrupted(programs, interrupt, { id: programs.idOf(callId, code), code }, going);
      } finally {
        asked.resolve();
        if (asking.get(node) === asked.promise) asking.delete(node);
      }
    },
    fields: fieldsOf(tool),
  };
}

function fieldsOf(tool: LoopTool): LangChainTool["fields"] {
  return { name: tool.name, description: tool.description, schema: tool.schema };
}

/** Answers of one node that are passed over at most: `interrupt` interrupts once there are no more. */
const MOST_ANSWERS = 10_000;

/** `interrupt` of `@langchain/langgraph`. */
export type Interrupt = (value: never) => unknown;

/**
 * Runs a program in a node of a graph. A node that is interrupted is run again from its beginning, where `interrupt` gives
 * the answers so far in their order. So there is one interrupt for each time that a call was held, in the order of the
 * journal, also if another person has decided it since. Other tools of the node, and this one in other states, may take the
 * answers in another order: each answer names its call, and decides no other.
 */
async function runInterrupted(
  programs: WaitingPrograms,
  interrupt: Interrupt,
  { id, code }: { readonly id: string; readonly code: string },
  going: Going & Pick<RunOptions, "signal"> & { readonly before: Promise<void> | undefined },
): Promise<string> {
  let report = await programs.run(id, code, going);
  await going.before;
  for (let asked = 0; ;) {
    const held = heldIn(await programs.records(id));
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
      const waits = mayWait ? await programs.approval(id, call) : undefined;
      const question = waits
        ? questionText([waits])
        : `Call ${call} of ${tool} was decided already. Any answer continues it.`;
      const { input, rawInput } = waits ?? {};
      const about = { program: id, callId: call, hold, tool, input, rawInput, question };
      const decision = answerTo(about, interrupt);
      if (waits) report = await programs.decide(id, going, [waits], decision);
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

/**
 * Asks for one call that waits. The answer names it, with `hold` from the second time on: an answer that is sent twice
 * decides no later one. Others are passed over.
 */
function answerTo(
  about: { readonly program: string; readonly callId: string; readonly hold: number; readonly question: string },
  interrupt: Interrupt,
): Decision {
  const { program, callId, hold } = about;
  const names = hold === 1 ? "{ program, callId, allow }" : `{ program, callId, hold: ${hold}, allow }`;
  let { question } = about;
  for (let n = 0; n < MOST_ANSWERS; n += 1) {
    const answer = interrupt({ type: "portcullis_approval", ...about, question } as never);
    const isNamed = textOf(answer, "program") === program && textOf(answer, "callId") === callId;
    if (isNamed && (fieldOf(answer, "hold") ?? 1) === hold) {
      return { allow: fieldOf(answer, "allow") === true, note: textOf(answer, "note") };
    }
    question = `The answer before did not name this call, and decided nothing about it. Resume with ${names}.\n${about.question}`;
  }
  return notRun(new Error("`interrupt` gives answers to other calls only, without end."));
}
