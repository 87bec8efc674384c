import type { Journal } from "../journal/journal.ts";
import type { ProgramHeader } from "../journal/record.ts";
import { cleanText } from "../output/clean-text.ts";
import { insetText } from "../output/foreign-text.ts";
import { reportOf } from "../output/report.ts";
import { endingText } from "../output/sentences.ts";
import { limitsOf } from "../programs/limits.ts";
import { parseEnding } from "../programs/parse-ending.ts";
import type { Past } from "../programs/past-execution.ts";
import { readReturned } from "../programs/settlement.ts";
import { undriven } from "../programs/undriven.ts";
import { ToolSet } from "../tools/tool-set.ts";
import { Lane } from "../values/slice-scheduler.ts";

/** The text that the model gets of a program. */
export interface OutputText {
  readonly text: string;
  /** Whether the text is exact. The hint of a fault is missing: it needs the tools, which the journal does not hold. */
  readonly isExact: boolean;
}

/**
 * The text that the model got of a program that has ended; undefined for one that has not, or whose outcome cannot be
 * read.
 */
export async function outputText(journal: Journal, header: ProgramHeader, past: Past): Promise<OutputText | undefined> {
  const ending = parseEnding(past.outcome?.outcome ?? "");
  if (!ending) return undefined;
  if (ending.type !== "completed") {
    const printed = past.logs.logs.text.trimEnd();
    const notes = (past.outcome?.notes ?? []).map((note) => `Note: ${cleanText(note)}`);
    const parts = [endingText(ending, undefined, past.state.turns > 0), ...notes];
    const text = [...parts, ...(printed === "" ? [] : [`Printed:\n${insetText(printed)}`])].join("\n\n");
    return { text: cleanText(text), isExact: false };
  }
  const limits = limitsOf(header);
  const body = past.state.settled?.ok === true ? past.state.settled.body : undefined;
  const returned =
    body === undefined ? { value: undefined } : await readReturned(body, limits.outputBytes, new Lane(header.tenant));
  if (!returned) return undefined;
  const execution = undriven({ journal }, header.execution, past, { type: "completed", ...returned, text: body });
  return { text: reportOf(execution, limits, new ToolSet([])).output.text, isExact: header.parent === undefined };
}
