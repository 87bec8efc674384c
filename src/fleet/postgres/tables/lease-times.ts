import { FIRST_MOMENT } from "../../../journal/packing/index.ts";
import { now } from "../../../base/index.ts";

/*
 * Leases are kept by the database's clock: a machine whose clock is wrong would take living executions over, or keep dead
 * ones. A lease that was given back, with a time near 1970, stays as it is.
 */

/** This moment by the database's clock, in milliseconds since 1970. */
export const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
/** Clocks that differ by less are taken for equal, in milliseconds: a statement takes time too. */
const SAME_MS = 1000;

/** A time of this machine by the database's clock. `own` is this moment by the clock of this machine. */
export const keptTime = (until: string, own: string): string =>
  `CASE WHEN ${until} < ${FIRST_MOMENT} OR abs(${NOW} - ${own}) <= ${SAME_MS} THEN ${until} ELSE ${until} + ${NOW} - ${own} END`;

/** A time of the database, which was read at this moment of its clock, by the clock of this machine. */
export function ownTime(until: number, readAt: number): number {
  const aheadMs = readAt - now();
  return until < FIRST_MOMENT || Math.abs(aheadMs) <= SAME_MS ? until : until - aheadMs;
}
