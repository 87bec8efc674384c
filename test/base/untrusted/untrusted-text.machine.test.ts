import { expect, test } from "vitest";
import { areSame, readJson, readPlainJson, untrusted } from "../../../src/base/index.ts";

const READER = { tenant: "own", hold: () => () => {} };
/** Of the processor time that a large text takes, what the host's thread may take. */
const MOST_SHARE = 0.3;

const msOf = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1000;
const LISTS = `[${"[],".repeat(1_300_000)}1]`;
const DEEP = "[".repeat(2_000_000) + "]".repeat(2_000_000);
const TEXT = JSON.stringify("\\x\n".repeat(800_000));

test.each([
  ["lists", (): unknown => readPlainJson(untrusted(LISTS), READER)],
  ["one text", () => readPlainJson(untrusted(TEXT), READER)],
  ["brackets within bounds", () => readJson(untrusted(DEEP), { depth: Infinity, values: 1 }, READER)],
  ["texts that are compared", () => areSame([[untrusted(TEXT), untrusted(` ${TEXT}`)]], READER)],
])("a large text costs the thread that reads it, and the host's hardly anything: %s", async (name, run) => {
  // The first text starts the thread.
  await run();
  const [all, own] = [process.cpuUsage(), process.threadCpuUsage()];
  for (let round = 0; round < 10; round += 1) await run();
  const [whole, host] = [msOf(process.cpuUsage(all)), msOf(process.threadCpuUsage(own))];
  process.stdout.write(`${name}: ${host.toFixed(0)} of ${whole.toFixed(0)} ms on the host's thread\n`);
  expect(host / whole).toBeLessThan(MOST_SHARE);
});
