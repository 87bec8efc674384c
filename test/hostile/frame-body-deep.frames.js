// Tries: to return a value of a million levels, for whoever walks it to fall down.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled("[".repeat(1_000_000) + "]".repeat(1_000_000))]);
