import { monotonic, pause } from "../../../clock.ts";
import type { Journal } from "../../../journal/journal.ts";
import { listView } from "../../../views/list/list-view.ts";
import { LiveView } from "../../../views/live-view.ts";
import type { CommandOptions, SHOW, WATCH } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { findExecution, readResumedHeader } from "../../input/find-execution.ts";
import { existingJournal } from "../../input/open-journal.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { executionLines, listLine, newLines } from "../../terminal/executions/execution-text.ts";
import { sameAs } from "../../terminal/executions/waiting-hints.ts";
import { printLines } from "../../terminal/print.ts";
import { standardStreams } from "../../terminal/standard-streams.ts";

/** How often the journal is looked at, in milliseconds. */
const LOOK_MS = 250;
/** Maximum share of the time that looking takes. */
const LOOKING_SHARE = 1 / 5;
/** Ended executions in the list. */
const ENDED_ROWS = 20;

/** What a look has seen. `isLast`: nothing more will come. */
interface Seen {
  readonly lines: readonly string[];
  readonly isLast?: boolean;
}

/** `portcullis watch`: follows one execution, or the list if none is named. */
export async function watch(named: string | undefined, options: CommandOptions<typeof WATCH>): Promise<number> {
  if (named !== undefined) return await followExecution(named, options);
  await using journal = existingJournal(options.journal);
  return await followList(journal, options.tenant);
}

/** Prints an execution as `show` does, and then the lines that come or change, until it ends. Ctrl-C ends the command, and changes nothing. */
export async function followExecution(
  named: string,
  { journal: path, tenant }: Pick<CommandOptions<typeof SHOW>, "journal" | "tenant">,
): Promise<number> {
  await using journal = existingJournal(path);
  const id = await findExecution(journal, named, tenant);
  const same = sameAs(await readResumedHeader(journal, id), path);
  const live = new LiveView(journal, id);
  return await follow(async () => {
    const view = await live.next();
    return { lines: executionLines(view, same, true), isLast: view.outcome !== undefined };
  });
}

/** Prints the executions of a journal, and then those that come or change, until Ctrl-C. */
export async function followList(journal: Journal, tenant: string | undefined): Promise<number> {
  return await follow(async () => ({ lines: await listLines(journal, tenant) }));
}

async function follow(look: () => Promise<Seen>): Promise<number> {
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  let before: readonly string[] = [];
  for (;;) {
    const since = monotonic();
    const { lines, isLast } = await look();
    const fresh = newLines(lines, before);
    if (fresh.length > 0) await printLines(fresh);
    // The reader of the output may have gone.
    if (isLast || standardStreams().stdout.destroyed) return EXIT.completed;
    before = lines;
    await pause(Math.max(LOOK_MS, (monotonic() - since) / LOOKING_SHARE), { signal });
    if (signal.aborted) return cancelling.exitCode;
  }
}

/** The executions that ended last, and then those that are open, the latest last. */
async function listLines(journal: Journal, tenant: string | undefined): Promise<readonly string[]> {
  // The list of open executions also has executions that are too large to be read for it.
  const lines = new Map<string, string>();
  for (const row of (await listView(journal, { tenant, state: "ended", limit: ENDED_ROWS })).executions)
    lines.set(row.execution, listLine(row));
  for (const state of ["running", "waiting", "unreadable"] as const)
    for (const row of (await listView(journal, { tenant, state })).executions) lines.set(row.execution, listLine(row));
  return [...lines.values()].toReversed();
}
