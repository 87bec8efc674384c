// Tries: to send 5 MB in one frame.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled(`"${"x".repeat(5_000_000)}"`)]);
