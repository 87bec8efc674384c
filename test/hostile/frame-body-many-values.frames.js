// Tries: to have as many values parsed and walked as fit the largest frame.
// Ends: completed | crashed bridge_broken | stopped frameBytes
import { guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled(`[${"[],".repeat(1_390_000)}0]`)]);
