// Tries: to print 2 MB, past what an honest guest keeps to.
// Ends: stopped printedBytes
import { guestThatSays, output, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [...Array.from({ length: 200 }, () => output(JSON.stringify("x".repeat(10_000)))), turnEnd(0)]);
