// Tries: to ask for a batch of a stream that has ended.
// Ends: crashed bridge_broken
// Records: violation
import { call, guestThatSays, next, READY, turnEnd } from "../hostile-support/frames.ts";
export default () =>
  guestThatSays([READY], [call(1, "rows", { n: 3 }), turnEnd(1)], [turnEnd(1)], [next(1), turnEnd(0)]);
