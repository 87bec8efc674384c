import { afterEach, describe, expect, test, vi } from "vitest";
import { frameText, PROTOCOL_VERSION } from "../../../bridge/frames.ts";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { memoryHeld } from "../../hostile-support/watch.ts";
import { openGuest } from "../../support/guests.ts";

const MIB = 1024 * 1024;
const ready = frameText({ kind: "ready", protocol: PROTOCOL_VERSION, language: "python" });
/** Greets, and reads nothing from then on. */
const DEAF = [
  "/usr/bin/python3",
  "-c",
  `import os, time
text = ${JSON.stringify(ready)}.encode()
os.write(4, len(text).to_bytes(4, "big") + text)
time.sleep(600)`,
];

describe.skipIf(needDockerEngine() !== undefined)("a container that does not read", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test.each(["pipes", "streams"])(
    "makes the host hold little more than the answers' text, for many answers and one large one, its bridge by %s",
    async (way) => {
      if (way === "streams") vi.spyOn(Daemon.prototype, "sharesMachine").mockResolvedValue(false);
      await using sandbox = createDockerSandbox({ command: DEAF });
      await using guest = await openGuest(sandbox, "a", { memoryBytes: 64 * MIB, frameBytes: MIB }, "python");
      // One text for all: what is held besides it is the host's own.
      const text = Buffer.alloc(48 * MIB, "x").toString("latin1");
      const before = memoryHeld();
      guest.send([text]);
      for (let answer = 0; answer < 100; answer += 1) guest.send([text.slice(0, MIB)]);
      // What can leave has left by then.
      for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      const after = memoryHeld();
      expect((after.usedBytes - before.usedBytes) / MIB).toBeLessThan(4);
      expect((after.residentBytes - before.residentBytes) / MIB).toBeLessThan(16);
    },
  );
});
