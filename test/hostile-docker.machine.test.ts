import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createRuntime, type ExecutionEvent, type Runtime } from "../src/index.ts";
import { createDockerSandbox } from "../src/sandboxes/index.ts";
import { attackCommand } from "./docker-support/attack-command.ts";
import { containersOf } from "./docker-support/containers.ts";
import { DiskWatch } from "./docker-support/disk-watch.ts";
import { needDockerEngine } from "./docker-support/docker-engine.ts";
import { type Attack, chosenAttacks, endsAsDeclared, readAttacks } from "./hostile-support/attacks.ts";
import { type Cost, gapCosts, holdToPromise } from "./hostile-support/costs.ts";
import { NotedJournal } from "./hostile-support/noted-journal.ts";
import { forbiddenRuns, HOSTILE_TOOLS } from "./hostile-support/tools.ts";
import { growthOf, HostWatch, memoryHeld } from "./hostile-support/watch.ts";

const MIB = 1024 * 1024;
const LIMITS = { memoryBytes: 64 * MIB, runningMs: 1000, wallMs: 5000 };

const KEPT_BYTES = 64 * MIB;
/** Garbage not yet collected included. What calls move comes on top, and is at most half of this in these attacks. */
const PEAK_BYTES = 128 * MIB;
const DISK_BYTES = MIB;
/** How long after the ending the container may still be there. */
const GONE_MS = 3000;

const PROGRAMS = 35;
const TIMEOUT_MS = 60_000;
const CLASSES = "bridge disk end fork kernel learn memory network print rights".split(" ");

const attacks = chosenAttacks("hostile-docker");
const events: ExecutionEvent[] = [];
const journal = new NotedJournal();

test("there are programs of every class, for both languages' runtimes", () => {
  const all = readAttacks("hostile-docker");
  expect(all.length).toBeGreaterThanOrEqual(PROGRAMS);
  expect(new Set(all.map(({ name }) => name.split("-", 1)[0]))).toEqual(new Set(CLASSES));
  for (const ending of [".js", ".py"])
    expect(all.filter(({ path }) => path.endsWith(ending)).length).toBeGreaterThanOrEqual(15);
});

describe.skipIf(needDockerEngine() !== undefined)("a hostile program that has a container to itself", () => {
  const sandbox = createDockerSandbox();
  let house: Runtime;

  beforeAll(async () => {
    house = await createRuntime({ tools: HOSTILE_TOOLS, sandbox });
    await ordinary();
  });

  afterAll(async () => {
    await house[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
  });

  test.each(attacks.map((attack): [string, Attack] => [`${attack.name} tries ${attack.tries}`, attack]))(
    "%s",
    { timeout: TIMEOUT_MS },
    async (_, attack) => {
      await holdToPromise(attack.name, async () => {
        const costs = await judge(attack);
        await ordinary();
        return costs;
      });
    },
  );

  async function ordinary(): Promise<void> {
    const { outcome } = await house.execute("return (await tools.read({ id: 3 })).name;");
    expect(outcome).toEqual({ type: "completed", value: "row 3" });
  }
});

/** Runs an attack, holds its ending to what it declares, and says what it cost. */
async function judge(attack: Attack): Promise<readonly Cost[]> {
  await using disk = await DiskWatch.start();
  const memoryBefore = memoryHeld();
  events.length = 0;
  journal.kinds.length = 0;
  await using sandbox = createDockerSandbox({ command: attackCommand(attack) });
  await using runtime = await createRuntime({
    tools: HOSTILE_TOOLS,
    sandbox,
    journal,
    limits: LIMITS,
    onEvent: (event) => events.push(event),
  });
  const watch = new HostWatch();
  const { outcome } = await runtime.execute("return 1;");
  const cost = watch.stop();
  const endedAt = performance.now();
  await vi.waitFor(async () => expect(await containersOf()).toEqual([]), { timeout: 2 * GONE_MS, interval: 20 });
  const goneMs = performance.now() - endedAt;

  expect(endsAsDeclared(attack, outcome), `ended otherwise: ${JSON.stringify(outcome).slice(0, 500)}`).toBe(true);
  expect(forbiddenRuns).toEqual([]);
  for (const [tool, runs] of attack.runs)
    expect({ [tool]: events.filter((event) => event.type === "call_started" && event.tool === tool).length }).toEqual({
      [tool]: runs,
    });
  for (const kind of attack.records) expect(journal.kinds).toContain(kind);
  return [
    ...gapCosts(cost),
    { of: "MiB the host has grown by", value: growthOf(memoryBefore, memoryHeld()) / MIB, most: KEPT_BYTES / MIB },
    { of: "MiB the host grew by meanwhile", value: cost.peakBytes / MIB, most: PEAK_BYTES / MIB },
    { of: "KiB written to the engine's disk", value: (await disk.grownBytes()) / 1024, most: DISK_BYTES / 1024 },
    { of: "ms until the container was gone", value: goneMs, most: GONE_MS },
  ];
}
