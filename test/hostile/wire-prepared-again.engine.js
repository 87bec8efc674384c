// Tries: to be taken for a fresh engine in the middle of a program, and to greet as another guest.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
import { call, READY, turnEnd } from "../hostile-support/frames.ts";
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine((_, engine) => engine.say(["prepared", READY, call(1, "write", { id: 1 }), turnEnd(1)]));
