import type { CallView, ExecutionView } from "./view.ts";
import { duration } from "./words.ts";

/*
 * Calls over time, as the page and the terminal draw them. Times are milliseconds since 1970.
 */

/** A part of time. */
export interface Time {
  readonly from: number;
  readonly until: number;
}

/** A part of a call's time, and what the call did in it. A call waits for a person, or for the result of a client. */
export interface Span extends Time {
  readonly does: "runs" | "waits";
}

/** A mark of the axis. */
export interface Tick {
  readonly at: number;
  /** Its place, as a share of the width. */
  readonly share: number;
  /** How long after the beginning, like `1.5 s`. */
  readonly text: string;
}

/** The place of a moment, as a share of the width that a time has. */
export function shareOfTime({ from, until }: Time, at: number): number {
  return Math.max(0, Math.min(1, (at - from) / Math.max(1, until - from)));
}

type Going = Pick<ExecutionView, "state" | "driven" | "startedAt" | "lastAt">;

/** The time of an execution; up to now if it goes on, or waits. */
export function timeOf({ state, driven, startedAt: from, lastAt }: Going, now: number): Time {
  const goesOn = state === "waiting" || (state === "running" && driven);
  return { from, until: Math.max(from + 1, lastAt, goesOn ? now : 0) };
}

/** What a call did from its making to its end, or up to `until`. */
export function spansOf(call: CallView, until: number): readonly Span[] {
  const { at: from } = call;
  const end = Math.max(from, call.ms === undefined ? until : from + call.ms);
  const waited = Math.min(end, Math.max(from, waitedUntil(call, end)));
  const spans: readonly Span[] = [
    { from, until: waited, does: "waits" },
    { from: waited, until: end, does: "runs" },
  ];
  const some = spans.filter((span) => span.until > span.from);
  return some.length > 0 ? some : spans.slice(-1);
}

/** Until when a call has waited; its beginning if it has not. */
function waitedUntil({ at, state, detail, decision, started }: CallView, end: number): number {
  if (state === "waiting" || detail === "approval_expired" || decision?.decision === "denied") return end;
  // Nothing here has run it: a client has given its result, or it was given up while it waited.
  if (!started && state !== "open" && state !== "refused") return end;
  return decision && decision.remembered === undefined ? decision.at : at;
}

/** How long some calls took, in milliseconds. */
export interface Took {
  /** The time in which at least one of them went on: calls beside each other take it once. */
  readonly inAll: number;
  /** The mean of their times. */
  readonly each: number;
}

/** How long those of some calls took that have ended; undefined if none has. */
export function tookOf(calls: readonly CallView[]): Took | undefined {
  const times = calls.flatMap(({ at, ms }) => (ms === undefined ? [] : { at, ms }));
  if (times.length === 0) return undefined;
  let [inAll, all, end] = [0, 0, -Infinity];
  for (const { at, ms } of times.toSorted((a, b) => a.at - b.at)) {
    inAll += Math.max(0, at + ms - Math.max(at, end));
    end = Math.max(end, at + ms);
    all += ms;
  }
  return { inAll, each: all / times.length };
}

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000];
/** Distances of ticks that are round, up to a day. Beyond, they are numbers of days. */
const STEPS = [
  ...[1, 10, 100, SECOND].flatMap((unit) => [unit, 2 * unit, 5 * unit]),
  ...[10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12, 24].map((hours) => hours * HOUR),
];

/** At most so many marks at round distances from the beginning, with the beginning itself. */
export function ticksOf(time: Time, most: number): readonly Tick[] {
  const { from, until } = time;
  const all = until - from;
  const day = 24 * HOUR;
  const atLeast = all / Math.max(1, most - 1);
  const step = STEPS.find((one) => one >= atLeast) ?? Math.ceil(atLeast / day) * day;
  return Array.from({ length: Math.floor(all / step) + 1 }, (_, index) => ({
    at: from + index * step,
    share: shareOfTime(time, from + index * step),
    text: index === 0 ? "0" : duration(index * step),
  })).slice(0, Math.max(1, most));
}
