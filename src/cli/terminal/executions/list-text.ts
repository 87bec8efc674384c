import { now } from "../../../clock.ts";
import type { ListedExecution } from "../../../executions/listed-execution.ts";
import { count } from "../../../output/count-text.ts";
import type { ListRow } from "../../../views/list/list.ts";
import { duration, needsText, stateText } from "../../../views/words.ts";
import { foldLines } from "../fold-lines.ts";
import { fitLine, oneLine, widthOf } from "../one-line.ts";
import { table } from "../print.ts";

const TITLE_LENGTH = 60;

export type Listed = ListedExecution & Partial<Pick<ListRow, "title">>;

/** A column of the list. */
interface Column {
  readonly name: string;
  readonly of: (row: Listed) => string;
}

const EXECUTION: Column = { name: "execution", of: (row) => row.execution };
const KIND: Column = { name: "kind", of: (row) => row.kind };
const STATE: Column = { name: "state", of: stateText };
const TENANT: Column = { name: "tenant", of: (row) => row.tenant };
const STARTED: Column = { name: "started", of: (row) => new Date(row.startedAt).toISOString() };
const TOOK: Column = { name: "took", of: tookText };
const RECORDS: Column = { name: "records", of: (row) => count(row.records) };
const WHAT: Column = { name: "what", of: workText };
/** The columns of wide and of narrower terminals. */
const LAYOUTS: readonly (readonly Column[])[] = [
  [EXECUTION, KIND, STATE, TENANT, STARTED, TOOK, RECORDS, WHAT],
  [EXECUTION, KIND, STATE, STARTED, TOOK, WHAT],
  [EXECUTION, STATE, TOOK, WHAT],
];
const RIGHT = ["took", "records"];
/** Fewest cells in which a table says what an execution does. */
const LEAST = 16;

/** The list as lines: a table, and on a terminal that is too narrow for one a few lines for each execution. */
export function listLines(executions: readonly Listed[], columns?: number): readonly string[] {
  for (const layout of LAYOUTS) {
    const facts = table(...partsOf(executions, layout.slice(0, -1)), RIGHT).split("\n");
    const room = columns === undefined ? TITLE_LENGTH : columns - 3 - Math.max(...facts.map(widthOf));
    if (room < LEAST) continue;
    const [head, rows] = partsOf(executions, layout);
    const fitted =
      columns === undefined ? rows : rows.map((row) => [...row.slice(0, -1), fitLine(row.at(-1) ?? "", room)]);
    return table(head, fitted, RIGHT).split("\n");
  }
  return executions.flatMap((row) =>
    foldLines(
      [
        oneLine(row.execution),
        `  ${oneLine([stateText(row), tookText(row), workText(row)].filter(Boolean).join(", "))}`,
      ],
      columns,
    ),
  );
}

function partsOf(executions: readonly Listed[], layout: readonly Column[]) {
  const rows = executions.map((row) => layout.map(({ of }) => of(row)));
  return [layout.map(({ name }) => name), rows] as const;
}

function tookText({ ms, driven, startedAt }: Listed): string {
  if (ms === undefined && !driven) return "";
  return duration(Math.max(0, ms ?? now() - startedAt));
}

/** What an execution waits for, needs or goes on with, or else what it does. */
function workText({ waitsFor, needs, parent, title = "" }: Listed): string {
  if (parent !== undefined) return `goes on with ${parent}`;
  if (needs) return `needs ${needsText(needs)}`;
  return waitsFor.length > 0 ? `waits for ${waitsFor.join(", ")}` : title.slice(0, TITLE_LENGTH);
}

/** Executions as lines that fit on a terminal with this many rows and columns. */
export function listFrame(executions: readonly ListRow[], rows: number, columns?: number): readonly string[] {
  if (executions.length === 0) return ["The journal holds no execution yet."];
  for (let shown = Math.min(executions.length, Math.max(1, rows - 4)); ; shown -= 1) {
    const lines = listLines(executions.slice(0, shown), columns);
    const left = executions.length - shown;
    // On a narrow terminal an execution has several lines.
    if (lines.length <= rows - 2 || shown === 1) return [...lines, ...(left > 0 ? [`… ${count(left)} more`] : [])];
  }
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
  const { kind, execution, tenant, waitsFor, needs } = row;
  const named = needs?.names ?? waitsFor;
  const waits = named.length > 0 ? `: ${named.map(oneLine).join(", ")}` : "";
  return `${kind} ${oneLine(execution)} of ${oneLine(tenant)} ${oneLine(stateText(row))}${waits}`;
}
