// Tries: to ask for a second batch before it was sent the first.
// Ends: crashed bridge_broken
// Records: violation
import { call, guestThatSays, next, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "rows"), next(1), turnEnd(1)]);
