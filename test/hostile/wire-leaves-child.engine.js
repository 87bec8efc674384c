// Tries: to die and to leave a process behind that holds its pipes open, for the host to wait for.
// Ends: crashed engine_died
// Records: restart
import { spawn } from "node:child_process";
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine(() => {
  spawn("sleep", ["9"], { detached: true, stdio: ["ignore", "ignore", 2, 3, 4] });
  process.exit(1);
});
