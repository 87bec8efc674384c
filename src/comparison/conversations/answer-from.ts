import { isDeepStrictEqual } from "node:util";
import { PortcullisError } from "../../errors.ts";
import { createMemoryJournal } from "../../journal/memory-journal.ts";
import type { Verdict } from "../comparison.ts";
import type { CallResult } from "../../models/model.ts";
import type { Outcome } from "../../programs/outcome.ts";
import { jsonSchema } from "../../tools/schema.ts";
import { differenceText } from "./difference.ts";
import type { ComparisonTask } from "../comparison-task.ts";
import type { ComparisonContext } from "./conversation-run.ts";
import type { TranscriptTurn } from "../../agent/from-journal/transcript.ts";

/**
 * Decides whether the right answer follows from the results of direct calls: runs the task's program with these results
 * in place of the tools. No model is called: this is the answer of a reader that makes no mistakes. `unchecked` if the
 * program makes a call that is not among the direct calls.
 */
export async function answerFrom(
  { runtime, scope }: ComparisonContext,
  task: ComparisonTask,
  turns: readonly TranscriptTurn[],
  valueOf: (result: CallResult) => unknown,
): Promise<Judgement> {
  const results = new Map<string, CallResult>();
  for (const { turn, results: answers } of turns) {
    for (const [place, call] of turn.calls.entries()) {
      const result = answers[place];
      if (call.type === "tool_call" && result) results.set(keyOf(call.tool, JSON.parse(call.inputText)), result);
    }
  }
  let isCovered = true;
  const tools = runtime.tools.visibleTo(["programmatic"]).map((tool) => ({
    ...tool,
    input: jsonSchema({ type: "object" }),
    output: undefined,
    approvable: false,
    needsApproval: () => false,
    handler: (input: unknown) => {
      const result = results.get(keyOf(tool.name, input));
      isCovered &&= result !== undefined;
      if (!result || result.isError)
        throw new PortcullisError("tool_failed", result?.text ?? "This call was not made directly.");
      return valueOf(result);
    },
  }));
  // A call that was not made directly fails here, which is a verdict and no failure of a tool.
  const logger = { error: () => {} };
  await using own = runtime.derive({ tools, journal: createMemoryJournal({ keepLength: 0 }), logger });
  const { outcome } = await own.execute(task.program, scope);
  scope.signal.throwIfAborted();
  if (!isCovered) return { verdict: "unchecked" };
  return judge(outcome, task.answer);
}

export interface Judgement {
  readonly verdict: Verdict;
  /** Where a wrong value differs from the answer; undefined if there is no value. */
  readonly difference?: string;
}

export function judge(outcome: Outcome | undefined, answer: unknown): Judgement {
  return outcome?.type === "completed" ? judgeValue(outcome.value, answer) : { verdict: "wrong" };
}

export function judgeValue(value: unknown, answer: unknown): Judgement {
  return isDeepStrictEqual(value, answer)
    ? { verdict: "right" }
    : { verdict: "wrong", difference: differenceText(answer, value) };
}

/** Key of a call. Inputs that differ only in the order of their fields have the same key. */
function keyOf(tool: string, input: unknown): string {
  const inOrder = (_: string, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : value;
  return `${tool} ${JSON.stringify(input, inOrder)}`;
}
