// Tries: to return an object with a field called __proto__.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [settled('{"rows":[{"__proto__":{"admin":true}}]}')]);
