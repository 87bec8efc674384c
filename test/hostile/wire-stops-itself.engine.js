// Tries: to stand still without using any time of its own.
// Ends: stopped cpuMs
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine(() => process.kill(process.pid, "SIGSTOP"));
