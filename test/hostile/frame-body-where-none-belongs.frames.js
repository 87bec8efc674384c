// Tries: to end a turn with something more to say.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [`${turnEnd(0)}\n{"open":1}`]);
