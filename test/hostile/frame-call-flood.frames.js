// Tries: to make 20,000 calls though it was told of 10,000.
// Ends: stopped calls
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
const calls = Array.from({ length: 20_000 }, (_, index) => call(index + 1, "read", { id: index }));
export default () => guestThatSays([READY], [...calls, turnEnd(calls.length)]);
