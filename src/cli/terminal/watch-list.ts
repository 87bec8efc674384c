import type { ListRow } from "../../views/list.ts";
import { oneLine } from "./one-line.ts";
import { table } from "./table.ts";

const TITLE_LENGTH = 60;

/** Executions as lines that fit on a terminal with this many rows. */
export function listFrame(executions: readonly ListRow[], rows: number): readonly string[] {
  if (executions.length === 0) return ["The journal holds no execution yet."];
  const shown = executions.slice(0, Math.max(1, rows - 4));
  const cells = shown.map((row) => [
    row.execution,
    stateText(row),
    row.tenant,
    (Math.max(0, row.ms ?? Date.now() - row.startedAt) / 1000).toFixed(1),
    String(row.records),
    row.waitsFor.length > 0 ? `waits for ${row.waitsFor.join(", ")}` : row.title.slice(0, TITLE_LENGTH),
  ]);
  const left = executions.length - shown.length;
  return [
    ...table(["execution", "state", "tenant", "s", "records", "what"], cells, ["s", "records"]).split("\n"),
    ...(left > 0 ? [`… ${left} more`] : []),
  ];
}

/** What has changed since the list was looked at last: a line for each execution that is new or stands otherwise. */
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
  return `${kind} ${oneLine(execution)} of ${oneLine(tenant)} ${stateText(row)}${waits}`;
}

function stateText({ state, driven, outcome }: ListRow): string {
  if (state === "running" && !driven) return "running, without a driver";
  return state === "ended" && outcome !== undefined ? outcome : state;
}
