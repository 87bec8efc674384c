// Tries: to end as if all were well.
// Ends: crashed engine_died
// Records: restart
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine(() => process.exit(0));
