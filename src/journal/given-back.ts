import type { Lease } from "./journal.ts";

/** Below it the end of a lease is no moment, but says that the driver has given the execution back: half a year after 1970. */
export const FIRST_MOMENT = 15_768_000_000;

/** Whether a driver has given its execution back, so that another driver may take it at once. */
export function isGivenBack({ until }: Lease): boolean {
  return until < FIRST_MOMENT;
}
