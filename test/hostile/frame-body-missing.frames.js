// Tries: to call without an input.
// Ends: crashed bridge_broken
// Records: violation
// Runs: read 0
import { guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], ['{"kind":"call","id":1,"tool":"read"}', turnEnd(1)]);
