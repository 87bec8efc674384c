// Tries: to print what is no text.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, output, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [output('{"toString":1}'), turnEnd(0)]);
