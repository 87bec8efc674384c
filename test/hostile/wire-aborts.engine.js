// Tries: to end by a fault of the machine.
// Ends: crashed engine_died
// Records: restart
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine(() => process.kill(process.pid, "SIGSEGV"));
