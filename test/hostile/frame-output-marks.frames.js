// Tries: to have a line written about lines that were left out, a hundred thousand times, in turn after turn.
// Ends: stopped printedBytes | crashed bridge_broken
import { guestThatSays, output, READY, turnEnd } from "../hostile-support/frames.ts";
const marks = [...Array.from({ length: 100_000 }, () => output('""', 9_007_199_254_740_991)), turnEnd(0)];
export default () => guestThatSays([READY], marks, marks, marks);
