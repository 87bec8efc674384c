// Tries: to make a call that changes something in the turn that ends it.
// Ends: failed calls_not_awaited
// Runs: write 0
import { call, guestThatSays, READY, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "write", { id: 1 }), settled("1")]);
