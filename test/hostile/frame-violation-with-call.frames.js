// Tries: to have a call that is right carried out, though what follows it is garbage.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "write", { id: 1 }), turnEnd(1), "{garbage"]);
