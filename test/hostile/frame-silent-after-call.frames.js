// Tries: to leave its first turn open for ever.
// Ends: stopped cpuMs
// Runs: write 0
import { call, guestThatSays, READY } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "write", { id: 1 })]);
