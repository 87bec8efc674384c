// Tries: to have a header of 3 MB parsed.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [`{"kind":"turn_end","open":0,"padding":[${"[],".repeat(1_000_000)}0]}`]);
