// Tries: to have things that are no texts cleaned and shown as notes.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled("1", true, [{ toString: "x" }, null])]);
