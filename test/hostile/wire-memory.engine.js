// Tries: to take a gigabyte outside of any isolate.
// Ends: stopped memoryBytes
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine(() => {
  const kept = [];
  for (;;) kept.push(Buffer.alloc(16 * 1024 * 1024, 1));
});
