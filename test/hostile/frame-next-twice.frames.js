// Tries: to ask for two batches for one.
// Ends: crashed bridge_broken
// Records: violation
import { call, guestThatSays, next, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "rows"), turnEnd(1)], [next(1), next(1), turnEnd(1)]);
