// Tries: to make a call behind its own end.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled("1"), call(1, "write", { id: 1 }), turnEnd(1)]);
