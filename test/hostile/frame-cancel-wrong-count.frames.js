// Tries: to count a stream that it has cancelled among what is open.
// Ends: crashed bridge_broken
// Records: violation
import { call, cancel, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "rows"), turnEnd(1)], [cancel(1), turnEnd(1)]);
