import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { ExecutionId } from "../../../journal/execution-id.ts";
import type { Journal } from "../../../journal/journal.ts";
import { HOST, readRecords } from "../../../journal/reading/read-records.ts";
import { count } from "../../../output/count-text.ts";
import { viewExecution } from "../../../views/view-execution.ts";
import type { CommandOptions, SHOW } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure, reasonOf } from "../../failure.ts";
import { findExecution, readResumedHeader } from "../../input/find-execution.ts";
import { existingJournal } from "../../input/open-journal.ts";
import { executionLines } from "../../terminal/executions/execution-text.ts";
import { sameAs, shown } from "../../terminal/executions/waiting-hints.ts";
import { printJson, printLines } from "../../terminal/print.ts";
import { writeStderr, writeStdout } from "../../terminal/standard-streams.ts";
import { writePrivate } from "../../write-out.ts";
import { followExecution } from "./follow.ts";

/** `portcullis show`: shows one execution as the journal has it: its program or task, its calls, decisions and outcome. */
export async function show(named: string, options: CommandOptions<typeof SHOW>): Promise<number> {
  if ([options.json, options.html, options.follow].filter(Boolean).length > 1)
    throw new Failure(EXIT.usage, "show: --json, --html and --follow are three ways to show it. Give one of them.");
  if (options.follow) return await followExecution(named, options);
  await using journal = existingJournal(options.journal);
  const id = await findExecution(journal, named, options.tenant);
  if (options.html !== undefined) return await showAsPage(journal, id, options.html);
  if (options.json) {
    for await (const record of readRecords(journal, id, HOST)) printJson(record);
    return EXIT.completed;
  }
  await printLines((await shownText(journal, id, options.journal)).split("\n"));
  return EXIT.completed;
}

/** Writes the page about an execution to a file that its owner alone can read: it holds what tools returned. */
async function showAsPage(journal: Journal, id: ExecutionId, file: string): Promise<number> {
  const { htmlFile } = await import("../../../serve/page/html-file.ts");
  const { html, left } = await htmlFile(journal, id);
  try {
    writePrivate(file, html);
  } catch (error) {
    throw new Failure(EXIT.usage, `show: ${file} cannot be written: ${reasonOf(error)}`);
  }
  writeStdout(`${pathToFileURL(resolve(file)).href}\n`);
  const [first] = left;
  if (first !== undefined)
    writeStderr(
      `portcullis: ${left.length === 1 ? "1 program of the conversation is" : `${count(left.length)} programs of the conversation are`} not in the file. Each can have a file of its own: portcullis show ${shown(first)} --html FILE\n`,
    );
  return EXIT.completed;
}

/** What `show` prints of an execution. `path` is the file of its journal. Rejects as `viewExecution` does. */
export async function shownText(journal: Journal, id: ExecutionId, path?: string): Promise<string> {
  const view = await viewExecution(journal, id);
  return executionLines(view, sameAs(await readResumedHeader(journal, id), path)).join("\n");
}
