// Tries: to open a thousand streams, of which its host allows sixty-four.
// Ends: completed 936
// Records: refused budget_spent
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
const STREAMS = 1000;
const ALLOWED = 64;
const calls = Array.from({ length: STREAMS }, (_, index) => call(index + 1, "rows"));
export default () => {
  let refused = 0;
  const say = (event) => {
    // Events that were on their way when it settled.
    if (refused === STREAMS - ALLOWED) return [];
    if (event.includes('"kind":"answer"')) refused += 1;
    return refused === STREAMS - ALLOWED ? [settled(String(refused))] : [turnEnd(STREAMS - refused)];
  };
  return guestThatSays([READY], [...calls, turnEnd(STREAMS)], ...Array.from({ length: 2 * STREAMS }, () => say));
};
