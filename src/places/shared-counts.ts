/*
 * How processes share a limit: what each change of the shared state means. Places are held by leases, starts end by themselves,
 * so what a process had that died comes back.
 */
import type { Changed } from "./shared-state.ts";

/** After this time without a word of its holder a place is free, in milliseconds. */
export const PLACES_LEASE_MS = 10_000;

/** Places by holder: how many it has, how many it waits for, and until when it has them. */
export type HeldPlaces = Readonly<Record<string, readonly [places: number, waits: number, until: number]>>;

export interface PlacesAsked {
  readonly holder: string;
  /** Places of all holders together, at most. */
  readonly most: number;
  /** Places that it keeps; what it had more is given back. */
  readonly keeps: number;
  /** Places that it waits for. */
  readonly waits: number;
}

export interface PlacesGiven {
  /** How many it gets beside those that it keeps. */
  readonly more: number;
  /** Whether others wait for places, and there are none left. */
  readonly othersWait: boolean;
  /** Its equal part of all places; less than one if there are more holders than places. */
  readonly share: number;
}

export function takePlaces(
  held: HeldPlaces = {},
  { holder, most, keeps, waits }: PlacesAsked,
  now: number,
): Changed<HeldPlaces, PlacesGiven> {
  const others = Object.entries(held).filter(([id, [, , until]]) => id !== holder && until > now);
  const taken = others.reduce((sum, [, [places]]) => sum + places, keeps);
  const waitingOthers = others.filter(([, [, waiting]]) => waiting > 0).length;
  const share = most / (others.length + 1);
  // What is left is divided: a holder that comes first does not take what others already wait for.
  const part = waitingOthers === 0 ? waits : Math.min(waits, Math.max(1, Math.ceil(share)) - keeps);
  const more = Math.max(0, Math.min(part, most - taken));
  const own = keeps + more + waits > 0 ? [[holder, [keeps + more, waits - more, now + PLACES_LEASE_MS]]] : [];
  const state = Object.fromEntries([...others, ...own]) as HeldPlaces;
  return { state, result: { more, othersWait: waitingOthers > 0 && taken + more >= most, share } };
}

/** Starts that were given away, each with the moment from which they count no more. */
export type GivenStarts = readonly (readonly [id: string, starts: number, until: number])[];

export interface StartsAsked {
  /** Name of what is given now. */
  readonly id: string;
  /** Starts in each span of `perMs`, at most. */
  readonly most: number;
  readonly perMs: number;
  /** How long what is given may be used, in milliseconds. */
  readonly usableMs: number;
  readonly wants: number;
  /** What was given before and was not used. */
  readonly unused?: { readonly id: string; readonly starts: number } | undefined;
}

export interface StartsGiven {
  readonly starts: number;
  /** When there may be more, in milliseconds from now. */
  readonly waitMs: number;
}

/**
 * What is given may be used until `usableMs` have passed, and counts until `perMs` after that. So all starts of any span of `perMs`
 * count together at its end: there are never more than `most`, wherever the span begins.
 */
export function takeStarts(
  given: GivenStarts = [],
  { id, most, perMs, usableMs, wants, unused }: StartsAsked,
  now: number,
): Changed<GivenStarts, StartsGiven> {
  const counted = given
    .filter(([, , until]) => until > now)
    .map(([of, starts, until]) => [of, of === unused?.id ? starts - unused.starts : starts, until] as const)
    .filter(([, starts]) => starts > 0);
  const taken = counted.reduce((sum, [, starts]) => sum + starts, 0);
  const starts = Math.max(0, Math.min(wants, most - taken));
  const state = starts > 0 ? [...counted, [id, starts, now + usableMs + perMs] as const] : counted;
  const first = counted.reduce((least, [, , until]) => Math.min(least, until), Number.POSITIVE_INFINITY);
  const waitMs = Number.isFinite(first) ? Math.max(1, Math.ceil(first - now)) : perMs;
  return { state, result: { starts, waitMs } };
}
