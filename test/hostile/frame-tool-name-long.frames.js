// Tries: to have the nearest names of a name of 5,000 characters looked for.
// Ends: crashed bridge_broken
// Records: violation
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "v".repeat(5000)), turnEnd(1)]);
