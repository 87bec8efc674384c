// Tries: to cancel streams that it has cancelled, 200,000 times.
// Ends: completed 1 | stopped totalBytes | stopped cpuMs
import { call, cancel, guestThatSays, READY, settled } from "../hostile-support/frames.ts";
const cancels = Array.from({ length: 200_000 }, () => cancel(1));
export default () => guestThatSays([READY], [call(1, "rows"), ...cancels, settled("1")]);
