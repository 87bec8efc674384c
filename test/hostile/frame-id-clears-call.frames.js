// Tries: to clear a call as if it were a timer, and to have lost it from the count.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { call, clear, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "write", { id: 1 }), clear(1), turnEnd(0)]);
