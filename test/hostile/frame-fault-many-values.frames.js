// Tries: to have as many values parsed and walked as fit the largest frame, as an account of how it failed.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled(`[${"[],".repeat(1_390_000)}0]`, false)]);
