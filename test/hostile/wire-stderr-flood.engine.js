// Tries: to print on standard error for ever.
// Ends: stopped cpuMs | stopped wallMs
import { writeSync } from "node:fs";
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
const text = Buffer.alloc(1_000_000, "noise ");
runRogueEngine(() => {
  for (;;) {
    try {
      writeSync(2, text);
    } catch {}
  }
});
