import { afterAll, beforeAll } from "vitest";
import { type Clock, realClock, replaceClock } from "../../src/clock.ts";

export const PATIENT: Clock = { ...realClock, deadline: () => new AbortController().signal };

/** On a machine that is busy, no check of this file is given up: what it comes to is judged, and not how long it takes. */
export function waitForChecks(): void {
  let replaced: Disposable | undefined;
  beforeAll(() => {
    replaced = replaceClock(PATIENT);
  });
  afterAll(() => replaced?.[Symbol.dispose]());
}
