// Tries: to be no JSON.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], ["{'kind': 'turn_end'}"]);
