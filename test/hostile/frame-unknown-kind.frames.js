// Tries: to send kinds that mean something to JavaScript only.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], ['{"kind":"__proto__"}']);
