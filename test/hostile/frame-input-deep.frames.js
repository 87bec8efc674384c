// Tries: to pass a tool 400,000 levels.
// Ends: completed "refused"
// Records: refused input_invalid
// Runs: echo 0
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
const deep = `{"value":${"[".repeat(400_000)}${"]".repeat(400_000)}}`;
export default () => guestThatSays([READY], [call(1, "echo", deep), turnEnd(1)], (answer) => [settled(answer.includes("input_invalid") ? '"refused"' : "0")]);
