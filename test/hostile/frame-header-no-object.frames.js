// Tries: to be JSON, but no object: nothing, a list, a number.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], ["null"]);
