import { afterAll, beforeAll, vi } from "vitest";
import { realClock, replaceClock } from "../../src/base/clock.ts";
import { never } from "./clock.ts";

/** Has programs checked, which other tests do not: each check is a process. On a machine that is busy, none is given up. */
export function checkPrograms(): Disposable {
  vi.stubEnv("PORTCULLIS_TSC", undefined);
  const replaced = replaceClock({ ...realClock, deadline: never });
  return {
    [Symbol.dispose]() {
      replaced[Symbol.dispose]();
      vi.stubEnv("PORTCULLIS_TSC", "");
    },
  };
}

/** Has the programs of a file of tests checked. */
export function checkProgramsOfFile(): void {
  let checks: Disposable | undefined;
  beforeAll(() => {
    checks = checkPrograms();
  });
  afterAll(() => checks?.[Symbol.dispose]());
}
