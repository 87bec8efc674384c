// Tries: to make the same call again once it has been answered, so that it runs twice.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 1
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(7, "write", { id: 1 }), turnEnd(1)], [call(7, "write", { id: 1 }), turnEnd(1)]);
