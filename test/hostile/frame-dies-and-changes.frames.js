// Tries: to die, and to do something else when it is replayed.
// Ends: crashed replay_diverged
// Records: restart
// Runs: write 1
import { call, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () =>
  guestThatSays([READY], [call(Math.floor(performance.now() * 1000), "write", { id: 1 }), turnEnd(1)], () => {
    throw new Error("died");
  });
