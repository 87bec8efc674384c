import type { ListedExecution } from "../../../executions/listed-execution.ts";
import { count } from "../../../output/count-text.ts";
import type { ListRow } from "../../../views/list/list.ts";
import { duration, stateText } from "../../../views/words.ts";
import { oneLine } from "../one-line.ts";
import { table } from "../print.ts";

const TITLE_LENGTH = 60;

export type Listed = ListedExecution & Partial<Pick<ListRow, "title">>;

export function listTable(executions: readonly Listed[]): string {
  const rows = executions.map((row) => [
    row.execution,
    row.kind,
    stateText(row),
    row.tenant,
    new Date(row.startedAt).toISOString(),
    tookText(row),
    count(row.records),
    workText(row),
  ]);
  const head = ["execution", "kind", "state", "tenant", "started", "took", "records", "what"];
  return table(head, rows, ["took", "records"]);
}

function tookText({ ms, driven, startedAt }: Listed): string {
  if (ms === undefined && !driven) return "";
  return duration(Math.max(0, ms ?? Date.now() - startedAt));
}

/** What an execution waits for or goes on with, or else what it does. */
function workText({ waitsFor, parent, title = "" }: Listed): string {
  if (parent !== undefined) return `goes on with ${parent}`;
  return waitsFor.length > 0 ? `waits for ${waitsFor.join(", ")}` : title.slice(0, TITLE_LENGTH);
}

/** Executions as lines that fit on a terminal with this many rows. */
export function listFrame(executions: readonly ListRow[], rows: number): readonly string[] {
  if (executions.length === 0) return ["The journal holds no execution yet."];
  const shown = executions.slice(0, Math.max(1, rows - 4));
  const left = executions.length - shown.length;
  return [...listTable(shown).split("\n"), ...(left > 0 ? [`… ${count(left)} more`] : [])];
}

/** A line for each execution that is new, or whose state has changed since the last look. */
export function listNews(executions: readonly ListRow[], before: readonly ListRow[] | undefined): readonly string[] {
  const known = new Map(before?.map((row) => [row.execution, lineOf(row)]));
  return executions
    .filter((row) => known.get(row.execution) !== lineOf(row))
    .map((row) => lineOf(row))
    .toReversed();
}

function lineOf(row: ListRow): string {
  const { kind, execution, tenant, waitsFor } = row;
  const waits = waitsFor.length > 0 ? `: ${waitsFor.map(oneLine).join(", ")}` : "";
  return `${kind} ${oneLine(execution)} of ${oneLine(tenant)} ${oneLine(stateText(row))}${waits}`;
}
