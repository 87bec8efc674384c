// Tries: to ask for a batch of a timer.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, next, READY, timer, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [timer(1, 10_000), next(1), turnEnd(1)]);
