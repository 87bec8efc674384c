// Tries: to settle with one value, and then with another.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled('"first"'), settled('"second"')]);
