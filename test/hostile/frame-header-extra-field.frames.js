// Tries: to say who calls.
// Ends: crashed bridge_broken
// Records: violation
// Runs: vault.open 0
import { guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], ['{"kind":"call","id":1,"tool":"vault.open","caller":"direct"}\n{}', turnEnd(1)]);
