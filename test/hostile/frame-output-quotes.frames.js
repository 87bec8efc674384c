// Tries: to have as many marks looked at as fit the largest frame, each for whether it ends the printed text.
// Ends: stopped printedBytes
import { guestThatSays, output, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [output(`"${'\\"'.repeat(2_090_000)}"`), turnEnd(0)]);
