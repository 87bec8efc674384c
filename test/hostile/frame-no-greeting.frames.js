// Tries: to begin with a call instead of a greeting.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { call, guestThatSays } from "../hostile-support/frames.ts";
export default () => guestThatSays([call(1, "write", { id: 1 })]);
