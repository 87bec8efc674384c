// Tries: to ask for 30 MB of answers and to read none, for them to pile up in the host.
// Ends: stopped cpuMs
import { call, turnEnd } from "../hostile-support/frames.ts";
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
const value = "x".repeat(900_000);
runRogueEngine((_, engine) => {
  engine.say([...Array.from({ length: 33 }, (_, index) => call(index + 1, "echo", { value })), turnEnd(33)]);
  engine.pipe.pause();
  setInterval(() => {}, 1000);
});
