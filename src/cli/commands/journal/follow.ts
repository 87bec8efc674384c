import { existsSync } from "node:fs";
import { monotonic, pause } from "../../../clock.ts";
import type { ExecutionId } from "../../../journal/execution-id.ts";
import { ifKnown } from "../../../journal/find-if-known.ts";
import type { Journal } from "../../../journal/journal.ts";
import { POSTGRES_URL } from "../../../journal/postgres/connection/address.ts";
import type { ListRow } from "../../../views/list/list.ts";
import { listView } from "../../../views/list/list-view.ts";
import type { ExecutionView } from "../../../views/view.ts";
import { viewExecution } from "../../../views/view-execution.ts";
import { isDriven } from "../../../programs/driven.ts";
import type { CommandOptions, SameOptions, SHOW, WATCH } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { findExecution, readResumedHeader } from "../../input/find-execution.ts";
import { existingJournal, journalPathOf } from "../../input/open-journal.ts";
import { type Cancelling, cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { type LiveDisplay, liveDisplay } from "../../terminal/live-display.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { shapeOf } from "../../terminal/terminal-shape.ts";
import { standardStreams, writeInTime, writeStderr } from "../../terminal/standard-streams.ts";
import { executionFrame, executionNews } from "../../terminal/executions/execution-text.ts";
import { listFrame, listNews } from "../../terminal/executions/list-text.ts";
import { sameAs } from "../../terminal/executions/waiting-hints.ts";

/** How often the journal is looked at, in milliseconds. */
const LOOK_MS = 250;
/** Maximum share of the time that looking takes. */
const LOOKING_SHARE = 1 / 5;
/** Ended executions in the list. */
const ENDED_ROWS = 20;

/** Shows an execution until it ends, even if it or its journal does not exist yet. Ctrl-C ends the command, and changes nothing. */
export async function followExecution(
  named: string,
  options: Pick<CommandOptions<typeof SHOW>, "journal" | "tenant"> &
    Partial<Pick<CommandOptions<typeof SHOW>, "calls">>,
): Promise<number> {
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  const path = journalPathOf(options.journal);
  const isThere = async () => path === undefined || POSTGRES_URL.test(path) || existsSync(path) || undefined;
  await untilFound(isThere, `journal ${path}`, signal);
  if (signal.aborted) return cancelling.exitCode;
  await using journal = existingJournal(options.journal);
  const find = () => ifKnown(() => findExecution(journal, named, options.tenant));
  const id = await untilFound(find, `execution ${named}`, signal);
  if (id === undefined) return cancelling.exitCode;
  const same = sameAs(await readResumedHeader(journal, id), options.journal);
  const shown = { same, allCalls: options.calls };
  return await lookAgain(cancelling, (display) => executionLook(journal, display, id, shown));
}

/** Shows the executions of a journal as they go on, until Ctrl-C. */
export async function followList(journal: Journal, tenant: string | undefined): Promise<number> {
  using cancelling = cancelOnSignal();
  return await lookAgain(cancelling, (display) => listLook(journal, display, tenant));
}

/** `portcullis watch`: follows one execution, or the list if none is named. */
export async function watch(
  named: string | undefined,
  { tenant, journal: path }: CommandOptions<typeof WATCH>,
): Promise<number> {
  if (named !== undefined) return await followExecution(named, { tenant, journal: path });
  await using journal = existingJournal(path);
  return await followList(journal, tenant);
}

async function lookAgain(cancelling: Cancelling, lookWith: (display: LiveDisplay) => Look): Promise<number> {
  const { signal } = cancelling;
  const { stdout } = standardStreams();
  using display = liveDisplay(stdout, writeInTime);
  const look = lookWith(display);
  for (;;) {
    const since = monotonic();
    if (await look()) return EXIT.completed;
    await rest(since, signal);
    if (signal.aborted) return cancelling.exitCode;
    // The reader of the output has gone.
    if (stdout.destroyed) return EXIT.completed;
  }
}

/** Waits for what does not exist yet, and says so once on standard error. Undefined once the signal is aborted. */
async function untilFound<Found>(
  find: () => Promise<Found | undefined>,
  what: string,
  signal: AbortSignal,
): Promise<Found | undefined> {
  for (let looks = 0; !signal.aborted; looks += 1) {
    const since = monotonic();
    const found = await find();
    if (found !== undefined) return found;
    if (looks === 0) writeStderr(`portcullis: there is no ${oneLine(what)} yet: waiting for it.\n`);
    await rest(since, signal);
  }
  return undefined;
}

async function rest(since: number, signal: AbortSignal): Promise<void> {
  const wait = Math.max(LOOK_MS, (monotonic() - since) / LOOKING_SHARE);
  await pause(wait, { signal });
}

/** Looks at the journal once and shows the news. Resolves with true if there will be no more news. */
type Look = () => Promise<boolean>;

function executionLook(
  journal: Journal,
  display: LiveDisplay,
  id: ExecutionId,
  { same, allCalls }: { readonly same: SameOptions; readonly allCalls: boolean | undefined },
): Look {
  let before: ExecutionView | undefined;
  return async () => {
    const summary = await journal.find(id);
    const isNew = before?.records !== summary.records || before.driven !== isDriven(journal, summary);
    const view = before && !isNew ? before : await viewExecution(journal, id);
    if (display.rows !== undefined)
      display.draw(executionFrame(view, display.rows, same, { ...shapeOf(standardStreams().stdout), allCalls }));
    else if (isNew) await display.print(executionNews(view, before, same));
    before = view;
    return view.outcome !== undefined;
  };
}

function listLook(journal: Journal, display: LiveDisplay, tenant: string | undefined): Look {
  let before: readonly ListRow[] | undefined;
  return async () => {
    const rows = await rowsOf(journal, tenant);
    if (display.rows === undefined) await display.print(listNews(rows, before));
    else display.draw(listFrame(rows, display.rows, shapeOf(standardStreams().stdout).columns));
    before = rows;
    return false;
  };
}

/** The open executions first, then those that ended last. */
async function rowsOf(journal: Journal, tenant: string | undefined): Promise<readonly ListRow[]> {
  // The list of open executions also has executions that are too large to be read for it.
  const rows = new Map<string, ListRow>();
  for (const state of ["running", "waiting", "unreadable"] as const)
    for (const row of (await listView(journal, { tenant, state })).executions) rows.set(row.execution, row);
  const ended = await listView(journal, { tenant, state: "ended", limit: ENDED_ROWS });
  return [...rows.values(), ...ended.executions];
}
