// Tries: to keep the host busy with looking for names like ten thousand unknown ones.
// Ends: stopped cpuMs | stopped calls
// Records: refused tool_unknown
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
const calls = Array.from({ length: 10_000 }, (_, index) => call(index + 1, `${index}${"readechowrite".repeat(19)}`));
export default () => guestThatSays([READY], [...calls, turnEnd(calls.length)]);
