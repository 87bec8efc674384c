// Tries: to call a tool that only a model may call directly.
// Ends: completed "refused"
// Records: refused tool_unknown
// Runs: vault.open 0
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
export default () =>
  guestThatSays([READY], [call(1, "vault.open"), turnEnd(1)], (answer) => [settled(answer.includes("tool_unknown") && !answer.includes("secret") ? '"refused"' : '"answered"')]);
