// Tries: to answer the word to stop with calls that change something.
// Ends: stopped wallMs
// Runs: write 0
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "hang"), turnEnd(1)], [call(2, "write", { id: 1 }), turnEnd(1)]);
