// Tries: to keep a value without a name.
// Ends: crashed bridge_broken
// Records: violation
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "save_artifact", [1]), turnEnd(1)]);
