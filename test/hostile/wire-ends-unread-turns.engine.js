// Tries: to end the turns of answers that it does not read, for the answers to wait in the host as if they were read.
// Ends: crashed bridge_broken
// Records: violation
import { call, turnEnd } from "../hostile-support/frames.ts";
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
const value = "x".repeat(900_000);
runRogueEngine((_, engine) => {
  let open = 33;
  engine.say([...Array.from({ length: open }, (_, index) => call(index + 1, "echo", { value })), turnEnd(open)]);
  engine.pipe.pause();
  setInterval(() => engine.say([turnEnd((open -= 1))]), 50);
});
