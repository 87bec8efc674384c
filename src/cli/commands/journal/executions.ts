import { PortcullisError } from "../../../errors.ts";
import type { ListedExecution } from "../../../executions/listed-execution.ts";
import type { Journal } from "../../../journal/journal.ts";
import { readHeader } from "../../../journal/reading/read-records.ts";
import { titleIn } from "../../../views/parts/first-message.ts";
import { listExecutions } from "../../../executions/list-executions.ts";
import { Failure } from "../../failure.ts";
import type { CommandOptions, EXECUTIONS } from "../../command-options.ts";
import { given } from "../../../option-rules/given.ts";
import { EXIT } from "../../exit-code.ts";
import { existingJournal } from "../../input/open-journal.ts";
import { listLine } from "../../terminal/executions/execution-text.ts";
import { printJson, printLines } from "../../terminal/print.ts";
import { writeStderr } from "../../terminal/standard-streams.ts";
import { followList } from "./follow.ts";

/** `portcullis executions`: lists what the journal holds, the latest first. With `--json`, one document a line. */
export async function executions(options: CommandOptions<typeof EXECUTIONS>): Promise<number> {
  const { open, tenant, follow } = options;
  if (follow && (open || options.json))
    throw new Failure(
      EXIT.usage,
      "executions: --follow shows open executions first, as lines. Leave out --open and --json.",
    );
  await using journal = existingJournal(options.journal);
  if (follow) return await followList(journal, tenant);
  const onDamaged = ({ message }: PortcullisError) => writeStderr(`${message} It is not listed.\n`);
  const listed = listExecutions(journal, { ...given({ open, tenant }), onDamaged });
  let isEmpty = true;
  for await (const row of listed) {
    isEmpty = false;
    if (options.json) printJson(row);
    else await printLines([listLine({ ...row, ...given({ title: await titleFor(journal, row) }) })]);
  }
  if (isEmpty) writeStderr("The journal holds no such execution.\n");
  return EXIT.completed;
}

/** What an execution is called; undefined if its header cannot be read. */
async function titleFor(journal: Journal, { execution, tenant }: ListedExecution): Promise<string | undefined> {
  try {
    const header = await readHeader(journal, execution, { tenant });
    return header && (await titleIn(journal, header));
  } catch (error) {
    if (PortcullisError.is(error)) return undefined;
    throw error;
  }
}
