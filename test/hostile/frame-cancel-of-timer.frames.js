// Tries: to take back a timer, as if it were a stream.
// Ends: crashed bridge_broken
// Records: violation
import { cancel, guestThatSays, READY, timer, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [timer(1, 10_000), cancel(1), turnEnd(1)]);
