// Tries: to print, and to break the bridge in the same breath.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, output, READY } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [output('"\\u001b[2Jprinted"'), "{}"]);
