// Tries: to pass a tool an object with a field called __proto__, which an honest guest would not.
// Ends: completed "refused"
// Records: refused input_invalid
// Runs: write 0
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
export default () =>
  guestThatSays([READY], [call(1, "write", '{"id":1,"__proto__":{"admin":true}}'), turnEnd(1)], (answer) => [settled(answer.includes("input_invalid") ? '"refused"' : "0")]);
