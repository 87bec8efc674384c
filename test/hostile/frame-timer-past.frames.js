// Tries: to set a timer for the past, that is due again before the host has drawn breath.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, timer, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [timer(1, 0), turnEnd(1)]);
