// Tries: to ask for a batch of a stream that it has cancelled.
// Ends: crashed bridge_broken
// Records: violation
import { call, cancel, guestThatSays, next, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "rows"), turnEnd(1)], [cancel(1), next(1), turnEnd(0)]);
