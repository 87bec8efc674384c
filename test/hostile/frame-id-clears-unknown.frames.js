// Tries: to clear what never was.
// Ends: crashed bridge_broken
// Records: violation
import { clear, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [clear(5), turnEnd(0)]);
