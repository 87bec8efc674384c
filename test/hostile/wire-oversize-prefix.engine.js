// Tries: to have the host make room for a frame of 4 GiB.
// Ends: crashed bridge_broken
// Records: violation
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine((_, engine) => engine.write(Uint8Array.of(255, 255, 255, 255, 123)));
