// Tries: to have a timer's due time answer a call, by one id for both.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { call, guestThatSays, READY, timer, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [timer(3, 1), call(3, "write", { id: 1 }), turnEnd(1)]);
