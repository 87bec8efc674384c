// Tries: to take back a stream that it never opened.
// Ends: crashed bridge_broken
// Records: violation
import { call, cancel, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "rows"), cancel(2), turnEnd(1)]);
