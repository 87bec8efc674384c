// Tries: to send one turn that never ends, every frame of it right.
// Ends: stopped totalBytes | stopped cpuMs
import { writeSync } from "node:fs";
import { encodeFrames } from "../../bridge/wire.ts";
import { clear, timer } from "../hostile-support/frames.ts";
import { runRogueEngine } from "../hostile-support/rogue-engine.ts";
runRogueEngine((_, engine) => {
  engine.say([timer(1, 1000)]);
  const bytes = encodeFrames(new Array(2000).fill(clear(1)));
  setImmediate(function send() {
    for (let sent = 0; sent < bytes.length; ) {
      try {
        sent += writeSync(3, bytes, sent);
      } catch {}
    }
    setImmediate(send);
  });
});
