import { describe, expect, test } from "vitest";
import { createDockerSandbox } from "../src/sandboxes/index.ts";
import { attackCommand } from "./docker-support/attack-command.ts";
import { DiskWatch } from "./docker-support/disk-watch.ts";
import { needDockerEngine } from "./docker-support/docker-engine.ts";
import { type Attack, readAttacks } from "./hostile-support/attacks.ts";
import { HostileLog, titled } from "./hostile-support/hostile-suite.ts";
import { growthOf, HostWatch, memoryHeld } from "./hostile-support/watch.ts";

const MIB = 1024 * 1024;
/** What the host may hold after an attack, and what the engine may write to its disk: SECURITY.md promises both as bytes. */
const KEPT_BYTES = 64 * MIB;
const DISK_BYTES = MIB;
const LEAST_GAP_MS = 5;
const GAP_RATIO = 10;

describe.skipIf(needDockerEngine() !== undefined)("what a hostile program in a container costs the host", () => {
  test.each(titled(readAttacks("hostile-docker")))("%s", async (_, attack) => {
    const ordinary = await costOf();
    const cost = await costOf(attack);
    process.stdout.write(`${attack.name}: ${JSON.stringify({ ...cost, ordinaryGapMs: ordinary.gapMs })}\n`);
    expect.soft(cost.gapMs / Math.max(LEAST_GAP_MS, ordinary.gapMs), "pause of the host").toBeLessThan(GAP_RATIO);
    expect.soft(cost.keptBytes, "bytes that the host holds").toBeLessThan(KEPT_BYTES);
    expect.soft(cost.diskBytes, "bytes on the engine's disk").toBeLessThan(DISK_BYTES);
  });
});

/** What an attack costs the host, or an ordinary program in a container of the same kind. */
async function costOf(attack?: Attack) {
  await using disk = await DiskWatch.start();
  const log = new HostileLog();
  const before = memoryHeld();
  await using sandbox = createDockerSandbox(attack === undefined ? {} : { command: attackCommand(attack) });
  await using runtime = await log.open(sandbox);
  const watch = new HostWatch();
  if (attack === undefined) expect((await runtime.execute("return 1;")).outcome).toMatchObject({ type: "completed" });
  else await log.hold(attack, runtime, "return 1;");
  const { gapMs, peakBytes } = watch.stop();
  return { gapMs, peakBytes, keptBytes: growthOf(before, memoryHeld()), diskBytes: await disk.grownBytes() };
}
