import { expect, test } from "vitest";
import { fromOpenApi } from "../../../src/index.ts";
import { ALL, specOf } from "./api-server.ts";
import { numberOfHash } from "../../support/one-bucket.ts";

/** What is read in one block has the thread for nearly all of its time. */
const IN_ONE_BLOCK = 0.9;

/** The longest time in which other work did not have the thread, as a part of the whole. */
async function longestPart(work: Promise<unknown>): Promise<number> {
  const since = performance.now();
  let [last, longest] = [since, 0];
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  await work;
  clearInterval(timer);
  const now = performance.now();
  return Math.max(longest, now - last) / (now - since);
}

const sourceOf = (spec: unknown) =>
  fromOpenApi({ name: "api", spec: spec as never, baseUrl: "http://127.0.0.1:1" }, ALL);

test("YAML whose keys are compared with each other is read beside other work", async () => {
  const paths = Array.from({ length: 5000 }, (_, place) => `  /p${place}: {get: {operationId: o${place}}}`);
  const part = await longestPart(sourceOf(`openapi: 3.0.0\npaths:\n${paths.join("\n")}\n`));
  process.stdout.write(`The longest block is ${(100 * part).toFixed(0)} % of the whole\n`);
  expect(part).toBeLessThan(IN_ONE_BLOCK);
});

test("numbers in place of path items are read as fast as others", async () => {
  const timeOf = async (hashOf: (n: number) => number) => {
    const all = Array.from({ length: 90_000 }, (_, n) => numberOfHash(hashOf(n))).filter((one) => one < 2 ** 31);
    const numbers = all.slice(0, 30_000).map((number, n) => [`/p${n}`, number]);
    const since = performance.now();
    await sourceOf(specOf({ "/x": { get: {} }, ...Object.fromEntries(numbers) }));
    return performance.now() - since;
  };
  expect((await timeOf((n) => n << 15)) / (await timeOf((n) => n * 2_654_435_761))).toBeLessThan(5);
});

test("operations that all lead to thousands of definitions are read beside other work", async () => {
  const names = Array.from({ length: 5000 }, (_, place) => `S${place}`);
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const all = { type: "object", properties: Object.fromEntries(names.map((name) => [name, reference(name)])) };
  const schemas = { ...Object.fromEntries(names.map((name) => [name, { type: "string" }])), All: all };
  const responses = { 200: { description: "", content: { "application/json": { schema: reference("All") } } } };
  const paths = Object.fromEntries(
    Array.from({ length: 5000 }, (_, place) => [`/p${place}`, { get: { operationId: `o${place}`, responses } }]),
  );
  const part = await longestPart(sourceOf({ ...specOf(paths), components: { schemas } }));
  process.stdout.write(`The longest block is ${(100 * part).toFixed(0)} % of the whole\n`);
  expect(part).toBeLessThan(IN_ONE_BLOCK);
});
