// Tries: to number its calls downwards.
// Ends: crashed bridge_broken
// Records: violation
// Runs: read 0
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(9, "read", { id: 1 }), call(8, "read", { id: 1 }), turnEnd(2)]);
