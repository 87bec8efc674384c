import type { Journal } from "../../journal/journal.ts";
import type { ProgramHeader } from "../../journal/record.ts";
import { reportOf } from "../../output/report.ts";
import { limitsOf } from "../../programs/limits.ts";
import type { Past } from "../../programs/from-journal/past-execution.ts";
import { readEnding, recordedExecution } from "../../programs/from-journal/recorded-execution.ts";
import type { Effect } from "../../tools/tool.ts";
import { ToolSet } from "../../tools/tool-set.ts";
import { Lane } from "../../values/slice-scheduler.ts";

export type OutputText = NonNullable<Awaited<ReturnType<typeof outputText>>>;

/** The text that the model got of a program. Undefined if the program has not ended, or its outcome cannot be read. */
export async function outputText(journal: Journal, header: ProgramHeader, past: Past) {
  const ending = await readEnding(past, limitsOf(header).outputBytes, new Lane(header.tenant));
  if (!ending) return undefined;
  const execution = recordedExecution({ journal }, past, ending);
  const effects = new Map<string, Effect | undefined>(header.tools.map(({ name, effect }) => [name, effect]));
  const calls = execution.calls.map((line) => ({ ...line, effect: line.effect ?? effects.get(line.tool) ?? "read" }));
  const { output } = reportOf({ ...execution, calls }, new ToolSet([]));
  return {
    text: output.text,
    /**
     * Whether the text is exact. The text lacks the hint of a fault, which needs the tools: the journal does not hold
     * them. It also lacks values that a program of a conversation has kept, which the conversation's journal has.
     */
    isExact: ending.type !== "failed" && header.parent === undefined,
  };
}
