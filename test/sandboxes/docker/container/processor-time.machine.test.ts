import { describe, expect, test } from "vitest";
import { createDockerSandbox } from "../../../../src/sandboxes/docker/docker-sandbox.ts";
import { Daemon } from "../../../../src/sandboxes/docker/daemon.ts";
import { needDockerEngine } from "../../../docker-support/docker-engine.ts";
import { heardUntil, iterate, LIMITS, openGuest, startText } from "../../../support/guests.ts";

describe.skipIf(needDockerEngine() !== undefined)("the processor time of a container", () => {
  test.each([
    ["javascript", "const until = Date.now();\nlet n = 0;\nwhile (n < 3e8) n += 1;\nreturn n;"],
    ["python", "n = 0\nwhile n < 5_000_000:\n    n += 1\nreturn n"],
  ] as const)("is that of its program in %s, without its start, and is kept after its end", async (language, busy) => {
    if (!(await new Daemon().sharesMachine())) return;
    await using sandbox = createDockerSandbox();
    const guest = await openGuest(sandbox, "a", LIMITS, language);
    const beforeMs = guest.usage().processorMs;
    const frames = iterate(guest);
    guest.send([startText(busy)]);
    await heardUntil(frames, "settled");
    const afterMs = guest.usage().processorMs;
    if (beforeMs === undefined || afterMs === undefined) throw new Error("this machine does not tell it");
    expect(beforeMs).toBeLessThan(30);
    expect(afterMs - beforeMs).toBeGreaterThan(50);
    guest.release();
    await guest.exit;
    expect(guest.usage().processorMs).toBeGreaterThanOrEqual(afterMs);
  });
});
