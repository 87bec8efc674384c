// Tries: to set timers that no clock can hold.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, timer, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [timer(1, 2 ** 31), turnEnd(1)]);
