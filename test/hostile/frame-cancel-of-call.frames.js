// Tries: to take back a call that writes, as if it were a stream.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 1
import { call, cancel, guestThatSays, READY, timer, turnEnd } from "../hostile-support/frames.ts";
export default () =>
  guestThatSays([READY], [timer(1, 1), call(2, "write", { id: 1 }), turnEnd(2)], [cancel(2), turnEnd(0)]);
