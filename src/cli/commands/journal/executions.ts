import { listExecutions } from "../../../executions/list-executions.ts";
import { Failure } from "../../failure.ts";
import { EXIT } from "../../exit-code.ts";
import { existingJournal, type JournalOptions } from "../../input/open-journal.ts";
import { listTable } from "../../terminal/executions/list-text.ts";
import { printJson } from "../../terminal/print.ts";
import { writeStdout } from "../../terminal/standard-streams.ts";
import { followList } from "./follow.ts";

export interface ExecutionsOptions extends JournalOptions {
  readonly open?: boolean;
  readonly follow?: boolean;
}

/** `portcullis executions`: lists what the journal holds, the latest first. With `--json`, one document a line. */
export async function executions(options: ExecutionsOptions): Promise<number> {
  const { open, tenant, follow } = options;
  if (follow && (open || options.json))
    throw new Failure(
      EXIT.usage,
      "executions: --follow shows open executions first, as lines. Leave out --open and --json.",
    );
  using journal = existingJournal(options.journal);
  if (follow) return await followList(journal, options);
  const listed = listExecutions(journal, { ...(open ? { open } : {}), ...(tenant === undefined ? {} : { tenant }) });
  if (options.json) {
    for await (const execution of listed) printJson(execution);
    return EXIT.completed;
  }
  writeStdout(`${listTable(await Array.fromAsync(listed))}\n`);
  return EXIT.completed;
}
