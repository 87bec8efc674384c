// Tries: to send a million frames of no length.
// Ends: crashed bridge_broken
// Records: violation
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine((_, engine) => engine.write(new Uint8Array(4_000_000)));
