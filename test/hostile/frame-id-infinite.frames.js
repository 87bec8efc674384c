// Tries: to number a call with 1e999.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], ['{"kind":"call","id":1e999,"tool":"write"}\n{"id":1}', turnEnd(1)]);
