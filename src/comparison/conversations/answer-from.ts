import { isDeepStrictEqual } from "node:util";
import { PortcullisError } from "../../errors.ts";
import { Gate } from "../../gate/gate.ts";
import { createMemoryJournal } from "../../journal/memory-journal.ts";
import type { Verdict } from "../comparison.ts";
import type { CallResult } from "../../models/model.ts";
import type { Outcome } from "../../output/report.ts";
import { reportOf } from "../../output/report.ts";
import { execute } from "../../programs/execute.ts";
import { jsonSchema } from "../../tools/schema.ts";
import { ToolSet } from "../../tools/tool-set.ts";
import type { ComparisonTask } from "../comparison-task.ts";
import type { Work } from "../comparison-request.ts";
import type { TranscriptTurn } from "../../agent/transcript.ts";

/**
 * Whether the right answer follows from what direct calls returned: the task's program is run over their results and
 * nothing else. No model is asked, so this says what a reader without mistakes could know. `unchecked` where the
 * program needs a call that was not made.
 */
export async function answerFrom(
  work: Work,
  task: ComparisonTask,
  turns: readonly TranscriptTurn[],
  valueOf: (result: CallResult) => unknown,
): Promise<Verdict> {
  const results = new Map<string, CallResult>();
  for (const { turn, results: answers } of turns) {
    for (const [place, call] of turn.calls.entries()) {
      const result = answers[place];
      if (call.type === "tool_call" && result) results.set(keyOf(call.tool, JSON.parse(call.inputText)), result);
    }
  }
  let isCovered = true;
  const tools = work.gate.tools.visibleTo(["programmatic"]).map((tool) => ({
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
  const { limits, language, tenant, signal } = work;
  const ran = await execute(
    {
      ...work,
      gate: new Gate(new ToolSet(tools), undefined),
      journal: createMemoryJournal({ keepLength: 0 }),
      onEvent: () => {},
    },
    { source: task.program, limits, language, tenant, signal },
  );
  signal.throwIfAborted();
  if (!isCovered) return "unchecked";
  return verdictOf(reportOf(ran, limits, work.gate.tools).outcome, task.answer);
}

export function verdictOf(outcome: Outcome | undefined, answer: unknown): Verdict {
  return outcome?.type === "completed" && isDeepStrictEqual(outcome.value, answer) ? "right" : "wrong";
}

/** Inputs that differ only in the order of their fields are the same. */
function keyOf(tool: string, input: unknown): string {
  const inOrder = (_: string, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : value;
  return `${tool} ${JSON.stringify(input, inOrder)}`;
}
