// Tries: to open a thousand streams, of which its host allows sixty-four.
// Ends: completed 936
// Records: refused budget_spent
import { call, guestThatSays, READY, settled, timer, turnEnd } from "../hostile-support/frames.ts";
const STREAMS = 1000;
const calls = Array.from({ length: STREAMS }, (_, index) => call(index + 2, "rows"));
export default () => {
  let refused = 0;
  const say = (event) => {
    if (event.includes('"kind":"fire"')) return [settled(String(refused))];
    if (event.includes('"kind":"answer"')) refused += 1;
    return [turnEnd(STREAMS + 1 - refused)];
  };
  return guestThatSays(
    [READY],
    [timer(1, 300), ...calls, turnEnd(STREAMS + 1)],
    ...Array.from({ length: 2 * STREAMS }, () => say),
  );
};
