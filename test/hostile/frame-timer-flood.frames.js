// Tries: to have 10,001 timers open.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, timer, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [...Array.from({ length: 10_001 }, (_, index) => timer(index + 1, 100)), turnEnd(10_001)]);
