// Tries: to pass a tool 3 MB of brackets, which an honest guest would not.
// Ends: completed "refused"
// Records: refused budget_spent
// Runs: echo 0
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
export default () =>
  guestThatSays([READY], [call(1, "echo", `{"value":[${"[],".repeat(1_000_000)}0]}`), turnEnd(1)], (answer) => [settled(answer.includes("budget_spent") ? '"refused"' : "0")]);
