// Tries: to loop outside of any isolate, with every signal that can be ignored ignored.
// Ends: stopped cpuMs
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE", "SIGUSR2"]) process.on(signal, () => {});
runRogueEngine(() => {
  for (;;);
});
