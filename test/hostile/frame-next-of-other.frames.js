// Tries: to ask for a batch of a call that is no stream.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { call, guestThatSays, next, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "write", { id: 1 }), next(1), turnEnd(1)]);
