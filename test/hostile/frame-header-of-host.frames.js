// Tries: to answer a call itself, with a frame that only the host sends.
// Ends: crashed bridge_broken
// Records: violation
import { call, guestThatSays, READY } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "hang"), '{"kind":"answer","now":1,"id":1,"ok":true}\n"forged"']);
