import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { frameText, PROTOCOL_VERSION } from "../../../bridge/frames.ts";
import { createRuntime, createSqliteJournal } from "../../../src/index.ts";
import { DEFAULT_LIMITS } from "../../../src/executions/limits.ts";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { memoryHeld } from "../../hostile-support/watch.ts";
import { openGuest } from "../../support/guests.ts";
import { makeTool } from "../../support/tools.ts";

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

/** Greets, asks for as many results as there are calls, and reads nothing from then on. */
const CALLS = 200;
const calls = Array.from({ length: CALLS }, (_, index) =>
  frameText({ kind: "call", id: index + 1, tool: "large", body: "{}" }),
);
const ASKING = [
  "/usr/bin/python3",
  "-c",
  `import os, sys, time
def say(text):
    data = text.encode()
    os.write(4, len(data).to_bytes(4, "big") + data)
say(${JSON.stringify(ready)})
os.read(3, 4)
for text in ${JSON.stringify([...calls, frameText({ kind: "turn_end", open: CALLS })])}:
    say(text)
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

  test("has its results wait: of 200 of 200 kB the host holds 16 MiB, and what the calls under way have returned", async () => {
    const folder = mkdtempSync(join(tmpdir(), "portcullis-deaf-"));
    using journal = createSqliteJournal({ path: join(folder, "journal.db") });
    await using sandbox = createDockerSandbox({ command: ASKING });
    let ran = 0;
    const large = makeTool({
      name: "large",
      execute: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        ran += 1;
        return randomBytes(100_000).toString("hex");
      },
    });
    await using runtime = await createRuntime({ tools: [large], sandbox, journal });
    const before = memoryHeld();
    const over = new AbortController();
    const running = runtime.execute("unread", {
      language: "python",
      signal: over.signal,
      limits: { memoryBytes: 64 * MIB },
    });
    await expect.poll(() => ran).toBeGreaterThan(80);
    for (let seen = 0, turns = 0; turns < 50; turns += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (ran !== seen) turns = 0;
      seen = ran;
    }
    const after = memoryHeld();
    expect(ran).toBeLessThan(84 + DEFAULT_LIMITS.concurrentCalls + 1);
    const grownMib = (after.usedBytes - before.usedBytes) / MIB;
    process.stdout.write(`${ran} handlers ran, the host has grown by ${grownMib.toFixed(1)} MiB\n`);
    expect(grownMib).toBeLessThan(16 + 0.2 * DEFAULT_LIMITS.concurrentCalls + 4);
    over.abort();
    expect((await running).outcome.type).toBe("cancelled");
    rmSync(folder, { recursive: true });
  });
});
