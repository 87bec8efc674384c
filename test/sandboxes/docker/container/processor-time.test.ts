import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { processorReading, processorTime } from "../../../../src/sandboxes/docker/container/processor-time.ts";
import { newFolder } from "../../../support/new-folder.ts";

const ID = "7523d956";

/** A folder of control groups with these files. */
function controlGroups(files: Readonly<Record<string, string>>): string {
  const folder = newFolder(onTestFinished);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

test.each([
  [
    "the new control groups",
    `0::/system.slice/docker-${ID}.scope\n`,
    { [`system.slice/docker-${ID}.scope/cpu.stat`]: "usage_usec 12345\nuser_usec 1\nsystem_usec 2\n" },
    12.345,
  ],
  [
    "the old ones",
    `3:cpuset:/docker/${ID}\n2:cpuacct:/docker/${ID}\n0::/docker/${ID}\n`,
    { [`cpuacct/docker/${ID}/cpuacct.usage`]: "7000000\n" },
    7,
  ],
  [
    "the old ones, mounted together",
    `4:cpu,cpuacct:/docker/${ID}\n`,
    { [`cpu,cpuacct/docker/${ID}/cpuacct.usage`]: "7000000\n" },
    7,
  ],
  ["files that are not there", `0::/docker/${ID}\n`, {}, undefined],
  ["files that say something else", `0::/docker/${ID}\n`, { [`docker/${ID}/cpu.stat`]: "nr_periods 0\n" }, undefined],
  ["a group of another process", "0::/user.slice\n", { "user.slice/cpu.stat": "usage_usec 1\n" }, undefined],
  ["a group outside of what is seen here", `0::/../${ID}\n`, { [`../${ID}-none/cpu.stat`]: "" }, undefined],
  ["nothing", "", {}, undefined],
] as const)("processor time is read from %s", (_, membership, files, ms) => {
  expect(processorReading(membership, ID, controlGroups(files))?.()).toBe(ms);
});

test("it counts from the program's beginning, never falls, and stays when the container has gone", () => {
  let now: number | undefined = 120;
  const time = processorTime(() => now);
  now = 150;
  time.begin();
  const seen = [150, 160, 158, undefined].map((ms) => {
    now = ms;
    return time.ms;
  });
  expect(seen).toEqual([0, 10, 10, 10]);
});
