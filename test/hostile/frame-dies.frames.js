// Tries: to die whenever it is started.
// Ends: crashed engine_died
// Records: restart
import { guestThatSays, READY } from "../hostile-support/frames.ts";
export default () =>
  guestThatSays([READY], () => {
    throw new Error("died");
  });
