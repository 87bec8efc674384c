// Tries: to announce a frame and to never finish it.
// Ends: stopped cpuMs
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine((_, engine) => engine.write(Buffer.concat([Uint8Array.of(0, 16, 0, 0), Buffer.alloc(500_000, 123)])));
