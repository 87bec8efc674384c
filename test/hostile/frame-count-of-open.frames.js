// Tries: to hide an open call from the count.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "write", { id: 1 }), turnEnd(0)]);
