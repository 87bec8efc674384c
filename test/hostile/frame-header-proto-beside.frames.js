// Tries: to pass a field called __proto__ along with all that belong there.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, READY } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], ['{"kind":"turn_end","open":0,"__proto__":{"open":9}}']);
