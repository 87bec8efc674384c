import type { CallView, EventView } from "./view.ts";
import { elapsed } from "./words.ts";
import { joined, spansOf, ticksOf, type Time } from "./timeline.ts";

/** A time on the axis: its place, as a share of the width, and its words. */
export interface Tick {
  readonly share: number;
  readonly text: string;
}

export interface TimeScale {
  /** The place of a time, as a share of the width. */
  readonly place: (at: number) => number;
  readonly ticks: readonly Tick[];
  /** Times in which calls only waited, or in which no host had the execution. They are drawn shorter than they were. */
  readonly pauses: readonly (Time & { readonly text: string })[];
  readonly from: number;
  readonly until: number;
}

export interface ScaleFacts {
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly until: number;
  readonly calls: readonly CallView[];
  readonly events?: readonly EventView[];
  /** Number of times that fit on the axis. */
  readonly ticks: number;
}

/** Pauses are drawn shorter if all of them take this share of the time, and each of them at least this. */
const MUCH = 0.4;
const LONG = 0.05;
/** Share of the width of a pause that is drawn shorter, and of all of them. */
const PAUSE = 0.12;
const PAUSES = 0.4;

/** The axis of a program's time. If waits take most of it, they are drawn shorter, so that the rest can be seen. */
export function timeScale({ from, until: last, calls, events = [], ticks }: ScaleFacts): TimeScale {
  const until = Math.max(from + 1, last);
  const width = until - from;
  const long = pausesOf(calls, events, from, until).filter((pause) => lengthOf(pause) >= width * LONG);
  const paused = long.reduce((sum, pause) => sum + lengthOf(pause), 0);
  // Without work beside them there is nothing to make room for.
  const pauses = paused >= width * MUCH && width - paused >= 1 ? long : [];
  const active = pauses.length > 0 ? width - paused : width;
  const each = pauses.length === 0 ? 0 : Math.min(PAUSE, PAUSES / pauses.length);
  const perMs = (1 - each * pauses.length) / active;
  const place = (at: number) => {
    const time = Math.max(from, Math.min(until, at));
    let share = 0;
    let reached = from;
    for (const pause of pauses) {
      if (time <= pause.from) break;
      const inside = Math.min(time, pause.until) - pause.from;
      share += (pause.from - reached) * perMs + (inside / lengthOf(pause)) * each;
      reached = Math.min(time, pause.until);
    }
    return Math.max(0, Math.min(1, share + Math.max(0, time - reached) * perMs));
  };
  return {
    place,
    from,
    until,
    pauses: pauses.map((pause) => ({ ...pause, text: elapsed(lengthOf(pause)) })),
    ticks:
      pauses.length === 0
        ? ticksOf({ from, until }, ticks).map(({ at, text }) => ({ share: place(at), text }))
        : ticksBeside(pauses, { from, until, place }, active / ticks, ticks + 1),
  };
}

/** Times between pauses, at round distances of at least `least`, each of which has its share of the width. */
function ticksBeside(
  pauses: readonly Time[],
  { from, until, place }: Pick<TimeScale, "from" | "until" | "place">,
  least: number,
  most: number,
): readonly Tick[] {
  const ticks: Tick[] = [];
  const [first, second] = ticksOf({ from, until: from + 4 * least }, 5);
  const every = Math.max(1, (second?.at ?? from + least) - (first?.at ?? from));
  const pausedAt = (at: number) => pauses.find((pause) => at > pause.from && at < pause.until);
  for (let at = from, shown = -1; at <= until; at += every) {
    const pause = pausedAt(at);
    if (pause) at = from + Math.ceil((pause.until - from) / every) * every;
    const share = place(at);
    if (at > until || pausedAt(at) || share - shown < 1 / most) continue;
    ticks.push({ share, text: at === from ? "0" : elapsed(at - from, every) });
    shown = share;
  }
  return ticks;
}

/** The times that calls may wait, or that no host has the execution, without another call that runs. */
function pausesOf(
  calls: readonly CallView[],
  events: readonly EventView[],
  from: number,
  until: number,
): readonly Time[] {
  const waits: Time[] = [];
  const runs: Time[] = [];
  for (const call of calls) {
    for (const span of spansOf(call, until)) (span.does === "waits" ? waits : runs).push(span);
  }
  const marks = [...waits, ...runs].flatMap((span) => [span.from, span.until]).toSorted((a, b) => a - b);
  for (const { type, at } of events) {
    if (type !== "claim") continue;
    const before = marks.findLast((mark) => mark < at);
    if (before !== undefined) waits.push({ from: before, until: at });
  }
  return without(joined(waits), joined(runs)).map((pause) => ({
    from: Math.max(from, pause.from),
    until: Math.min(until, pause.until),
  }));
}

/** Both are joined. */
function without(spans: readonly Time[], others: readonly Time[]): readonly Time[] {
  const left: Time[] = [];
  let index = 0;
  for (const { from, until } of spans) {
    let at = from;
    while ((others[index]?.until ?? Infinity) <= from) index += 1;
    for (let next = index; (others[next]?.from ?? Infinity) < until; next += 1) {
      const other = others[next];
      if (!other) break;
      if (other.from > at) left.push({ from: at, until: other.from });
      at = Math.max(at, other.until);
    }
    if (at < until) left.push({ from: at, until });
  }
  return left;
}

function lengthOf({ from, until }: Time): number {
  return until - from;
}

/** A text of the axis, with the place that it takes. */
export interface AxisText {
  readonly text: string;
  readonly from: number;
  readonly until: number;
}

/** Texts of the axis that stand apart by at least a gap. One that has no room beside those before it is left out. */
export function withRoom<One extends AxisText>(texts: readonly One[], gap: number): readonly One[] {
  const shown: One[] = [];
  for (const one of texts)
    if (shown.every(({ from, until }) => one.from >= until + gap || one.until <= from - gap)) shown.push(one);
  return shown;
}
