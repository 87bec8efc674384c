// Tries: to give a header the fields of its kind by a prototype.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], ['{"kind":"call","__proto__":{"id":1,"tool":"write"}}\n{"id":1}', turnEnd(1)]);
