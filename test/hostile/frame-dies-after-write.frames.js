// Tries: to die once its call has changed something, so that the call is made again.
// Ends: crashed engine_died
// Records: restart
// Runs: write 1
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () =>
  guestThatSays([READY], [call(1, "write", { id: 1 }), turnEnd(1)], () => {
    throw new Error("died");
  });
