// Tries: to send 9 MB in one frame.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled(`"${"x".repeat(9_000_000)}"`)]);
