// Tries: to call and to settle before it was handed anything.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY, call(1, "write", { id: 1 }), turnEnd(1), settled("1")]);
