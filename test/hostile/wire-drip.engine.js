// Tries: to send a frame of 4 MB byte by byte, for the host to keep each one apart.
// Ends: stopped cpuMs
import { writeSync } from "node:fs";
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine(() => {
  writeSync(3, Uint8Array.of(0, 63, 0, 0));
  for (;;) {
    try {
      writeSync(3, "{");
    } catch {}
  }
});
