// Tries: to have finished after all, once it is told to stop.
// Ends: stopped wallMs
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "hang"), turnEnd(1)], [settled('"finished"')]);
