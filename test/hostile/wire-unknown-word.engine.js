// Tries: to use a word of the engine's that there is not.
// Ends: crashed bridge_broken
// Records: violation
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine((_, engine) => engine.say(["released", "\u001b[2J"]));
