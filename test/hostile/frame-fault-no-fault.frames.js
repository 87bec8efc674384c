// Tries: to fail with a fault that is none.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled('{"name":1,"message":["x"]}', false)]);
