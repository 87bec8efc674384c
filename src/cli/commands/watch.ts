import { setTimeout as sleep } from "node:timers/promises";
import type { Journal } from "../../journal/journal.ts";
import type { ListRow } from "../../views/list.ts";
import { listView } from "../../views/list-view.ts";
import type { ExecutionView } from "../../views/view.ts";
import { viewExecution } from "../../views/view-execution.ts";
import { isDriven } from "../../programs/driven-here.ts";
import { EXIT } from "../exit-code.ts";
import { findExecution } from "../input/find-execution.ts";
import { existingJournal } from "../input/open-journal.ts";
import { cancelOnSignal } from "../terminal/cancel-on-signal.ts";
import { type LiveDisplay, liveDisplay } from "../terminal/live-display.ts";
import { writeInTime } from "../terminal/standard-streams.ts";
import { executionFrame, executionNews } from "../terminal/watch-execution.ts";
import { listFrame, listNews } from "../terminal/watch-list.ts";

export interface WatchOptions {
  readonly journal?: string;
  readonly tenant?: string;
}

/** How often the journal is looked at, in milliseconds. */
const LOOK_MS = 250;
/** Maximum share of the time that looking takes. */
const LOOKING_SHARE = 1 / 5;
/** Ended executions in the list. */
const ENDED_ROWS = 20;

/**
 * `portcullis watch`: shows the executions of a journal as they go on, or one of them until it ends. Ctrl-C ends it, and
 * changes nothing.
 */
export async function watch(named: string | undefined, options: WatchOptions): Promise<number> {
  using journal = existingJournal(options.journal);
  const id = named === undefined ? undefined : await findExecution(journal, named, options.tenant);
  using cancelling = cancelOnSignal();
  using display = liveDisplay(process.stdout, writeInTime);
  const { signal } = cancelling;
  const look =
    id === undefined ? listLook(journal, display, options) : executionLook(journal, display, { ...options, id });
  for (;;) {
    const since = performance.now();
    if (await look()) return EXIT.completed;
    const wait = Math.max(LOOK_MS, (performance.now() - since) / LOOKING_SHARE);
    await sleep(wait, undefined, { signal }).catch(() => {});
    if (signal.aborted) return cancelling.exitCode;
    // Its reader has gone.
    if (process.stdout.destroyed) return EXIT.completed;
  }
}

/** Looks at the journal once and shows the news. Resolves with whether there will be nothing more. */
type Look = () => Promise<boolean>;

function executionLook(
  journal: Journal,
  display: LiveDisplay,
  { id, ...options }: WatchOptions & { readonly id: string },
): Look {
  let before: ExecutionView | undefined;
  return async () => {
    const summary = await journal.find(id);
    const isNew = before?.records !== summary.records;
    const view = !before || isNew ? await viewExecution(journal, id) : before;
    const driven = isDriven(journal, summary);
    if (display.rows !== undefined) display.draw(executionFrame({ ...view, driven }, display.rows, options));
    else if (isNew) await display.print(executionNews(view, before, options));
    before = view;
    return view.outcome !== undefined;
  };
}

function listLook(journal: Journal, display: LiveDisplay, { tenant }: WatchOptions): Look {
  let before: readonly ListRow[] | undefined;
  return async () => {
    const rows = await rowsOf(journal, tenant);
    if (display.rows === undefined) await display.print(listNews(rows, before));
    else display.draw(listFrame(rows, display.rows));
    before = rows;
    return false;
  };
}

/** Those that are open first, then those that ended last. */
async function rowsOf(journal: Journal, tenant: string | undefined): Promise<readonly ListRow[]> {
  const rows: ListRow[] = [];
  for (const state of ["running", "waiting", "unreadable"] as const)
    rows.push(...(await listView(journal, { tenant, state })).executions);
  rows.push(...(await listView(journal, { tenant, state: "ended", limit: ENDED_ROWS })).executions);
  return rows;
}
