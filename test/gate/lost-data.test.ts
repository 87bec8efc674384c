import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { answered, executed, makeTool, notedTool } from "../support/index.ts";

/** What a tool was given of these texts, called by a model, and what the model was told of each. */
async function called(texts: readonly string[]) {
  const { tool, inputs: given } = notedTool({ name: "keep", allowedCallers: ["direct"] });
  const calls = texts.map((inputText) => ({ tool: "keep", inputText }));
  const told: string[] = [];
  const model = scriptedModel([
    { calls },
    ({ results }) => {
      told.push(...results.map(({ text }) => text));
      return { text: "Done." };
    },
  ]);
  await answered([tool], { model, task: "Keep them." });
  return { given, told };
}

const someDoubles = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 20 });
const WRITTEN: readonly ((value: number) => string)[] = [
  (value) => JSON.stringify(value),
  (value) => value.toExponential(),
  (value) => value.toPrecision(17),
  (value) => (Number.isInteger(value) ? String(BigInt(value)) : String(value)),
  // As Python writes it.
  (value) => (Number.isInteger(value) && Math.abs(value) < 1e16 ? value.toFixed(1) : value.toExponential()),
];

test("a number arrives as it was, however a language writes the double", async () => {
  await fc.assert(
    fc.asyncProperty(someDoubles, async (values) => {
      const texts = values.flatMap((value) => WRITTEN.map((write) => `{"n":[${write(value)}]}`));
      const { given } = await called(texts);
      expect(given).toEqual(values.flatMap((n) => WRITTEN.map(() => ({ n: [n === 0 ? expect.closeTo(0) : n] }))));
    }),
    { numRuns: 25 },
  );
});

/** A whole double, rounded to so many digits after the first. */
function rounded(value: number, digits: number): bigint {
  const [mantissa = "", exponent] = value.toExponential(digits).split("e");
  return BigInt(
    mantissa
      .replace(".", "")
      .slice(0, Number(exponent) + 1)
      .padEnd(Number(exponent) + 1, "0"),
  );
}

test("a whole number that no double is, or writes, is refused with its place, and the nearest are not", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.bigInt({ min: 2n ** 53n, max: 10n ** 21n - 1n }), { minLength: 1 }),
      async (wholes) => {
        const { given, told } = await called(wholes.map((whole) => `{"a":[{"id":${whole}}]}`));
        const isKept = (whole: bigint) =>
          whole === BigInt(Number(whole)) || [14, 15, 16].some((digits) => whole === rounded(Number(whole), digits));
        expect(given).toEqual(wholes.filter(isKept).map((whole) => ({ a: [{ id: Number(whole) }] })));
        for (const [index, whole] of wholes.entries())
          if (!isKept(whole)) expect(told[index]).toContain(`a[0].id: ${whole} would become ${Number(whole)}`);
      },
    ),
    { numRuns: 25 },
  );
});

test("a program in JavaScript that writes a number that it does not have is refused, and can pass a text", async () => {
  const given: unknown[] = [];
  const tool = makeTool({
    name: "keep",
    inputSchema: z.object({ id: z.union([z.number(), z.string()]) }),
    execute: ({ id }) => given.push(id),
  });
  const { outcome } = await executed(
    [tool],
    `await tools.keep({ id: "9007199254740993" });
     return tools.keep({ id: JSON.rawJSON("9007199254740993") }).catch(({ code, message }) => code + ": " + message);`,
  );
  expect(outcome).toMatchObject({
    value: expect.stringMatching(/^input_invalid: .* id: 9007199254740993 would become/),
  });
  expect(given).toEqual(["9007199254740993"]);
});

test.each(["9007199254740993", "1e400", "-1E+999", "0.1000000000000000055", "1.0000000000000000000000001", "1e-400"])(
  "%s, which a double does not keep, is refused with its place",
  async (written) => {
    const { given, told } = await called([`{"rows":[1,{"n": ${written} }]}`, `{"x":"${written}"}`]);
    expect(told[0]).toContain(`rows[1].n: ${written} would become ${Number(written)}`);
    expect(given).toEqual([{ x: written }]);
  },
);

test("a name that an object has twice is refused with its place, however it is written and whatever it holds", async () => {
  // No backslash: V8 of node 24.21 takes a name with an escape for another that begins as this one is written.
  const name = fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom("a", "b", "ä", "1", '"', "\n", "\t") });
  // A field named `__proto__` is refused for that.
  const held = fc.jsonValue({ maxDepth: 2 }).filter((value) => !/__proto__|\\\\/.test(JSON.stringify(value)));
  const escaped = (text: string) =>
    `"${Array.from(text, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"`;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(name, held, held, fc.boolean()), { minLength: 1, maxLength: 10 }),
      async (cases) => {
        const texts = cases.map(([key, first, second, isEscaped]) => {
          const again = isEscaped ? escaped(key) : JSON.stringify(key);
          return `{"a":[{"other":{},${JSON.stringify(key)}:${JSON.stringify(first)},${again}:${JSON.stringify(second)}}]}`;
        });
        const once = cases.map(
          ([key, first]) => `{"a":[{"other":{},${JSON.stringify(key)}:${JSON.stringify(first)}}]}`,
        );
        const { given, told } = await called([...texts, ...once]);
        expect(given).toEqual(once.map((text) => JSON.parse(text) as unknown));
        for (const one of told.slice(0, texts.length)) expect(one).toMatch(/ a\[0\].*: it is given twice\./s);
      },
    ),
    { numRuns: 25 },
  );
});
