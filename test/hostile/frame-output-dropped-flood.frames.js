// Tries: to have nothing printed 30,000 times, each time with a line about what was left out.
// Ends: stopped printedBytes | crashed bridge_broken
import { guestThatSays, output, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [...Array.from({ length: 30_000 }, () => output('""', 9_007_199_254_740_991)), turnEnd(0)]);
