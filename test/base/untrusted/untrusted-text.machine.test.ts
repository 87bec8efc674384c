import { expect, test } from "vitest";
import { areSame, readJson, readPlainJson, asUntrusted } from "../../../src/base/index.ts";

const READER = { tenant: "own", hold: () => () => {} };
/** Of the processor time that parsing the same texts would take the host's thread. */
const MOST_SHARE = 0.75;
const ROUNDS = 10;

const LISTS = `[${"[],".repeat(1_300_000)}1]`;
const DEEP = "[".repeat(2_000_000) + "]".repeat(2_000_000);
const TEXT = JSON.stringify("\\x\n".repeat(800_000));

/** Processor time of this thread, in milliseconds. */
async function ownMs(run: () => unknown): Promise<number> {
  // The first text starts the thread.
  await run();
  const since = process.threadCpuUsage();
  for (let round = 0; round < ROUNDS; round += 1) await run();
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1000;
}

test.each([
  ["lists", [LISTS], (): unknown => readPlainJson(asUntrusted(LISTS), READER)],
  ["one text", [TEXT], () => readPlainJson(asUntrusted(TEXT), READER)],
  ["brackets within bounds", [DEEP], () => readJson(asUntrusted(DEEP), { depth: Infinity, values: 1 }, READER)],
  [
    "texts that are compared",
    [TEXT, ` ${TEXT}`],
    () => areSame([[asUntrusted(TEXT), asUntrusted(` ${TEXT}`)]], READER),
  ],
])("the host's thread hands a large text on for less than parsing it would take: %s", async (name, texts, run) => {
  const parsing = await ownMs(() => texts.map((text) => JSON.parse(text) as unknown));
  const handing = await ownMs(run);
  process.stdout.write(`${name}: ${handing.toFixed(0)} ms, ${parsing.toFixed(0)} ms to parse it\n`);
  expect(handing / parsing).toBeLessThan(MOST_SHARE);
});
