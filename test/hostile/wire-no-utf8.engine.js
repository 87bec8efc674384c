// Tries: to send bytes that are no text.
// Ends: crashed bridge_broken
// Records: violation
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine((_, engine) => engine.write(Uint8Array.of(0, 0, 0, 6, 123, 0xff, 0xfe, 0xed, 0xa0, 0x80)));
