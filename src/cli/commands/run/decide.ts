import { optionError } from "../../../errors.ts";
import { decide as noteDecision } from "../../../executions/decide.ts";
import { given } from "../../../option-rules/given.ts";
import type { Decision } from "../../../programs/decide.ts";
import type { CommandOptions, DECIDE } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { findExecution, readResumedHeader } from "../../input/find-execution.ts";
import { existingJournal } from "../../input/open-journal.ts";
import { wakingJournal } from "../../input/waking-journal.ts";
import { viewExecution } from "../../../views/view-execution.ts";
import { waitingLines } from "../../terminal/executions/execution-text.ts";
import { resumeCommand, sameAs } from "../../terminal/executions/waiting-hints.ts";
import { printJson } from "../../terminal/print.ts";
import { writeStderr } from "../../terminal/standard-streams.ts";

/** `portcullis decide`: notes a decision about a call that waits. It runs nothing; `resume` does, or a worker of the fleet. */
export async function decide(named: string, call: string, options: CommandOptions<typeof DECIDE>): Promise<number> {
  const { allow = false, deny = false, done, hold, by, note, remember = false, grant, tenant = "default" } = options;
  const answers = [allow, deny, done !== undefined].filter(Boolean).length;
  if (answers !== 1) throw optionError("decide", "exactly one of --allow, --deny and --done", answers);
  const decision: Decision = {
    ...(done === undefined ? { allow } : { done: { value: done } }),
    ...given({ hold, by, note }),
    ...(remember ? { remember: "execution" } : {}),
    ...(grant === undefined ? {} : { grant: grant as NonNullable<Decision["grant"]> }),
  };
  await using journal = existingJournal(options.journal);
  const execution = await findExecution(journal, named, tenant);
  await using waking = await wakingJournal(journal);
  await noteDecision({ journal: waking.journal, tenant }, execution, { decisions: { [call]: decision } });
  const header = await readResumedHeader(journal, execution);
  const whole = header?.execution ?? execution;
  if (options.json) {
    printJson({ execution, call, resume: whole });
    return EXIT.completed;
  }
  const same = sameAs(header, options.journal);
  const left = waitingLines(await viewExecution(journal, whole), same);
  const still = left.length === 0 ? "" : `It still waits:\n${left.join("\n")}\n`;
  const next = waking.isFleets
    ? `A worker of the fleet goes on with ${whole}.`
    : `Take it up, with the tools it began with: ${resumeCommand(whole, same)}`;
  writeStderr(`Noted. ${still}${next}\n`);
  return EXIT.completed;
}
