// Tries: to ask for a batch of an id that it never used.
// Ends: crashed bridge_broken
// Records: violation
import { call, guestThatSays, next, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(7, "rows"), turnEnd(1)], [next(3), turnEnd(1)]);
