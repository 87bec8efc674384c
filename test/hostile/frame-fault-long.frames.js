// Tries: to fail with a message of 3 MB.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled(JSON.stringify({ name: "Error", message: "x".repeat(3_000_000) }), false)]);
