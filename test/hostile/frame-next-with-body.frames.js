// Tries: to ask for a batch with a body.
// Ends: crashed bridge_broken
// Records: violation
import { call, guestThatSays, next, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "rows"), turnEnd(1)], [`${next(1)}\n{}`, turnEnd(1)]);
