// Tries: to exhaust the host's stack by a header that is all brackets.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [`{"kind":${"[".repeat(2000)}${"]".repeat(2000)}}`]);
