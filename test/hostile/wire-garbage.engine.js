// Tries: to send bytes that are no frames at all.
// Ends: crashed bridge_broken
// Records: violation
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine((_, engine) => engine.write(Uint8Array.from({ length: 1_000_000 }, (_, index) => (index * 7919) % 251)));
