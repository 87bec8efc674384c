import { byteText } from "../../../output/byte-text.ts";
import { count, counted } from "../../../output/count-text.ts";
import type { CallRow } from "../../../views/call-groups.ts";
import { type AxisText, type ScaleFacts, timeScale, type TimeScale, withRoom } from "../../../views/time-scale.ts";
import { density, spansOf } from "../../../views/timeline.ts";
import type { CallView, FunnelView } from "../../../views/view.ts";
import { callText, duration, FUNNEL, toolText } from "../../../views/words.ts";
import { fitLine, oneLine } from "../one-line.ts";
import { table } from "../print.ts";
import type { TerminalShape } from "../terminal-shape.ts";

/*
 * Calls over time, and the funnel, as lines of a terminal.
 */

/** Cells of the bars of a table, at least and at most. */
const LEAST = 12;
const MOST = 80;
/** Cells of the bars where lines may have any length. */
const USUAL = 40;
/** Cells between the columns of a table. */
const GAP = 2;
/** Cells between two marks of the axis, with their texts. */
const TICK = 9;
/** The shortest bar of the funnel that has tokens beside it, in cells. */
const SHORT = 8;

const RUNS = "█";
const STREAMS = "▓";
const WAITS = "░";
const PAUSE = "╌";
const LEVELS = "▁▂▃▄▅▆▇█";

interface Column {
  readonly name: string;
  readonly of: (row: CallRow) => string;
  /** The longest text, as a part of a narrow terminal. */
  readonly part?: number;
}

const COLUMNS: readonly Column[] = [
  { name: "call", of: (row) => (row.type === "call" ? row.call.id : `${count(row.group.calls.length)}×`), part: 8 },
  { name: "tool", of: toolOf, part: 2.5 },
  { name: "state", of: (row) => callText(row.type === "call" ? row.call : row.group), part: 5 },
  { name: "took", of: tookText },
  { name: "size", of: sizeText },
];
const RIGHT = ["took", "size"];

function toolOf(row: CallRow): string {
  if (row.type === "call") return toolText(row.call);
  return toolText({ ...row.group.calls[0], tool: row.group.tool });
}

function tookText(row: CallRow): string {
  if (row.type === "call") return row.call.ms === undefined ? "" : duration(row.call.ms);
  return row.group.took ? `${duration(row.group.took.inAll)} in all` : "";
}

function sizeText(row: CallRow): string {
  const { bytes } = row.type === "call" ? row.call : row.group;
  return bytes === 0 ? "" : byteText(bytes);
}

/** The time of an execution, and what was called in it. */
export type Times = Omit<ScaleFacts, "ticks">;

/** A table of calls, with a bar for each over the time of the axis. A narrow terminal has fewer columns. */
export function callTable(rows: readonly CallRow[], times: Times, { columns }: TerminalShape): readonly string[] {
  if (rows.length === 0) return [];
  for (let shown = COLUMNS; ; shown = shown.slice(0, -1)) {
    const lines = tableOf(rows, shown, columns);
    const used = lines.reduce((most, line) => Math.max(most, line.length), 0) + GAP;
    const room = columns === undefined ? USUAL : Math.min(MOST, columns - used - 1);
    if (room >= LEAST || shown.length <= 2) {
      const all = room >= LEAST ? besideBars(lines, used, barsOf(rows, times, room)) : lines;
      return columns === undefined ? all : all.map((line) => fitLine(line, columns - 1));
    }
  }
}

function tableOf(rows: readonly CallRow[], shown: readonly Column[], columns: number | undefined): readonly string[] {
  const cells = rows.map((row) =>
    shown.map(({ of, part }) =>
      columns === undefined || part === undefined ? of(row) : fitLine(of(row), Math.max(8, Math.floor(columns / part))),
    ),
  );
  const names = shown.map(({ name }) => name);
  return table(
    names,
    cells,
    RIGHT.filter((name) => names.includes(name)),
  ).split("\n");
}

function besideBars(lines: readonly string[], used: number, bars: readonly string[]): readonly string[] {
  return lines.map((line, index) => `${line.padEnd(used)}${bars[index] ?? ""}`.trimEnd());
}

/** The texts of the axis, its marks, and a bar for each row. */
function barsOf(rows: readonly CallRow[], times: Times, width: number): readonly string[] {
  const scale = timeScale({ ...times, ticks: Math.max(3, Math.floor(width / TICK)) });
  return [...axisOf(scale, width), ...rows.map((row) => barOf(row, scale, width))];
}

function axisOf({ ticks, pauses, place }: TimeScale, width: number): readonly string[] {
  const texts = Array.from({ length: width }, () => " ");
  const marks = Array.from({ length: width }, () => "─");
  const all: AxisText[] = [];
  const add = (text: string, from: number) => all.push({ text, from, until: from + text.length });
  for (const { from, until, text } of pauses) {
    const [begin, end] = [Math.floor(place(from) * width), Math.ceil(place(until) * width)];
    marks.fill(PAUSE, begin, end);
    add(text, Math.max(0, Math.floor((begin + end - text.length) / 2)));
  }
  for (const { share, text } of ticks) {
    const cell = Math.min(width - 1, Math.floor(share * width));
    marks[cell] = "┬";
    add(text, cell);
  }
  const inside = all.filter(({ until }) => until <= width);
  for (const { text, from } of withRoom(inside, 1)) texts.splice(from, text.length, ...text.split(""));
  return [texts.join(""), marks.join("")];
}

function barOf(row: CallRow, scale: TimeScale, width: number): string {
  if (row.type === "group" && row.group.state !== "waiting")
    return density(row.group.calls, scale, width, scale.place)
      .map((share) => (share === 0 ? " " : (LEVELS[Math.ceil(share * LEVELS.length) - 1] ?? RUNS)))
      .join("");
  const bar = Array.from({ length: width }, () => " ");
  for (const call of row.type === "call" ? [row.call] : row.group.calls) drawCall(bar, call, scale);
  return bar.join("");
}

function drawCall(bar: string[], call: CallView, { place, until }: TimeScale): void {
  const drawn = call.items === undefined ? RUNS : STREAMS;
  for (const span of spansOf(call, until)) {
    const begin = Math.min(bar.length - 1, Math.floor(place(span.from) * bar.length));
    const end = Math.max(begin + 1, Math.ceil(place(span.until) * bar.length));
    bar.fill(span.does === "waits" ? WAITS : drawn, begin, end);
  }
}

/** What the characters of the bars mean, if some of them need to be told. */
export function legendLines(rows: readonly CallRow[], times: Times): readonly string[] {
  const { until } = times;
  const calls = rows.flatMap((row) => (row.type === "call" ? [row.call] : []));
  const waits = calls.some((call) => spansOf(call, until).some(({ does }) => does === "waits"));
  const isHeld = rows.some((row) => row.type === "group" && row.group.state === "waiting");
  const parts = [
    ...(waits || isHeld ? [`${WAITS} waits`] : []),
    ...(calls.some(({ items }) => items !== undefined) ? [`${STREAMS} streams`] : []),
    ...(timeScale({ ...times, ticks: 1 }).pauses.length > 0 ? [`${PAUSE} a pause, drawn shorter`] : []),
    ...(rows.some(({ type }) => type === "group") ? [`${LEVELS[0]}${LEVELS.at(-1)} few or many calls at once`] : []),
  ];
  return parts.length === 0 ? [] : [[`${RUNS} runs`, ...parts].join("   ")];
}

/** A bar for each amount of the funnel, with its bytes and tokens. */
export function funnelLines(
  funnel: FunnelView,
  { columns = USUAL * 2 }: Pick<TerminalShape, "columns">,
): readonly string[] {
  const parts = FUNNEL.flatMap(([name, what]) => {
    const part = funnel[name];
    return part ? [{ what, part, size: byteText(part.bytes) }] : [];
  });
  const most = Math.max(1, ...parts.map(({ part }) => part.bytes));
  const named = Math.max(...parts.map(({ what }) => what.length));
  const sized = Math.max(...parts.map(({ size }) => size.length));
  const tokens = parts.map(({ part }) => `${part.estimated ? "≈ " : ""}${counted(part.tokens, "token")}`);
  const room = columns - named - sized - 2 * GAP - 1;
  const beside = room - Math.max(...tokens.map((text) => text.length)) - GAP;
  const hasTokens = beside >= SHORT;
  const width = Math.max(0, Math.min(USUAL, hasTokens ? beside : room));
  return parts.map(({ what, part, size }, index) => {
    const cells = Math.round((part.bytes / most) * width);
    const bar = part.bytes > 0 && cells === 0 && width > 0 ? "▏" : RUNS.repeat(cells);
    return fitLine(
      oneLine(
        `${what.padEnd(named)}  ${size.padStart(sized)}  ${bar.padEnd(width)}  ${(hasTokens && tokens[index]) || ""}`.trimEnd(),
      ),
      columns - 1,
    );
  });
}
