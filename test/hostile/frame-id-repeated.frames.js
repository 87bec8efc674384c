// Tries: to have one call id mean two calls.
// Ends: crashed bridge_broken
// Records: violation
// Runs: read 0, write 0
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "read", { id: 1 }), call(1, "write", { id: 1 }), turnEnd(1)]);
