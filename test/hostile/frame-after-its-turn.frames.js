// Tries: to send a second turn for one event, behind a turn that is right.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "write", { id: 1 }), turnEnd(1), call(2, "write", { id: 2 }), turnEnd(2)]);
