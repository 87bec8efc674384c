import { optionError } from "../../errors.ts";
import { decide as noteDecision } from "../../executions/decide.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Decision } from "../../programs/decide.ts";
import { EXIT } from "../exit-code.ts";
import { findExecution } from "../input/find-execution.ts";
import { existingJournal } from "../input/open-journal.ts";
import { parseJson } from "../input/parse-json.ts";
import { resumeCommand } from "../terminal/waiting-hints.ts";

export interface DecideOptions {
  readonly allow?: boolean;
  readonly deny?: boolean;
  /** JSON text of the result of a call that was done elsewhere. */
  readonly done?: string;
  readonly by?: string;
  readonly note?: string;
  readonly remember?: boolean;
  readonly tenant?: string;
  readonly journal?: string;
}

/** `portcullis decide`: notes a decision about a call that waits. It runs nothing; `resume` does. */
export async function decide(named: string, call: string, options: DecideOptions): Promise<number> {
  const { allow = false, deny = false, done, by, note, remember = false, tenant = "default" } = options;
  const given = [allow, deny, done !== undefined].filter(Boolean).length;
  if (given !== 1) throw optionError("decide", "exactly one of --allow, --deny and --done", given);
  const decision: Decision = {
    ...(done === undefined ? { allow } : { done: { value: parseJson("--done", done) } }),
    ...(by === undefined ? {} : { by }),
    ...(note === undefined ? {} : { note }),
    ...(remember ? { remember: "execution" } : {}),
  };
  using journal = existingJournal(options.journal);
  const execution = await findExecution(journal, named, tenant);
  await noteDecision({ journal, tenant }, execution, { decisions: { [call]: decision } });
  const whole = await wholeOf(journal, execution);
  process.stderr.write(`Noted. Take it up, with the tools it began with: ${resumeCommand(whole, options)}\n`);
  return EXIT.completed;
}

/** The execution to take up: a program in a conversation goes on with the conversation. */
async function wholeOf(journal: Journal, execution: string): Promise<string> {
  for await (const record of journal.read(execution))
    return record.type === "header" && record.parent ? record.parent.execution : execution;
  return execution;
}
