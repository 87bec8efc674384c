import { expect, test } from "vitest";
import { z } from "zod";
import { readInput as readInputOf } from "../../../src/gate/admit/read-input.ts";
import type { Schema } from "../../../src/tools/schema.ts";

function readInput(input: Schema, text: string) {
  return readInputOf({ name: "crm.find", input }, text, 40_000);
}

const page = z.object({ page: z.number().default(1) });
const anything = z.unknown() as unknown as Schema;

test("an input is parsed and validated by its schema", async () => {
  expect(await readInput(page, '{"page":2}')).toEqual({ ok: true, value: { page: 2 } });
  expect(await readInput(page, "{}")).toEqual({ ok: true, value: { page: 1 }, converted: '{"page":1}' });
});

test("the handler gets the input as the schema returns it, also from an asynchronous schema", async () => {
  const doubled = z.object({ n: z.number() }).transform(async ({ n }) => n * 2);
  expect(await readInput(doubled as unknown as Schema, '{"n":21}')).toEqual({ ok: true, value: 42, converted: "42" });
});

test("an input that does not fit is refused with every issue in one sentence", async () => {
  const both = z.object({ a: z.string(), b: z.string() });
  expect(await readInput(both, '{"a":1}')).toEqual({
    ok: false,
    reason: "a: Invalid input: expected string, received number; b: Invalid input: expected string, received undefined",
  });
});

test.each([
  ["", "it is not JSON"],
  ["undefined", "it is not JSON"],
  ["{'a':1}", "it is not JSON"],
  ["NaN", "it is not JSON"],
  ['{"a":1}{"b":2}', "it is not JSON"],
  ["\u001e{}", "it is not JSON"],
  ["[".repeat(1_000_000), "it is nested more than 100 levels deep"],
  ["[".repeat(101) + "]".repeat(101), "it is nested more than 100 levels deep"],
  [`${'{"a":'.repeat(500)}1${"}".repeat(500)}`, "it is nested more than 100 levels deep"],
  ['{"__proto__":{"isAdmin":true}}', "it has a field called __proto__"],
  ['{"a":[{"__proto__":1}]}', "it has a field called __proto__"],
])("a text that is not plain JSON is refused before it reaches a schema (text %#)", async (text, reason) => {
  const seen: unknown[] = [];
  const watching: Schema = {
    "~standard": {
      ...anything["~standard"],
      validate: (value) => {
        seen.push(value);
        return { value };
      },
    },
  };
  expect(await readInput(watching, text)).toEqual({ ok: false, reason });
  expect(seen).toEqual([]);
});

test.each([
  [
    "throws",
    () => {
      throw new Error("a secret of the host");
    },
  ],
  [
    "rejects",
    async () => {
      throw new Error("a secret of the host");
    },
  ],
])("a schema that %s refuses the input, and the reason stays on the host", async (_, validate) => {
  const schema: Schema = { "~standard": { ...anything["~standard"], validate } };
  expect(await readInput(schema, "{}")).toEqual({
    ok: false,
    reason: "it cannot be checked against the tool's schema",
  });
});

test("of a large input, the first fault is told and the rest are not looked for", async () => {
  const numbers = z.object({ ids: z.array(z.number()) });
  const faultsOf = (ids: number) => readInput(numbers, JSON.stringify({ ids: Array.from({ length: ids }, String) }));
  expect(await faultsOf(3998)).toMatchObject({
    reason: expect.stringMatching(/ids\[4\]: .*; and 3993 more$/u) as string,
  });
  expect(await faultsOf(3999)).toEqual({
    ok: false,
    reason: expect.stringMatching(
      /^ids\[0\]: [^;]*; there may be more, because the check of a large input stops at the first$/u,
    ) as string,
  });
});

test("a large input is validated as any other is, also by an asynchronous schema", async () => {
  const ids = Array.from({ length: 5000 }, (_, index) => index);
  const strings = z.object({ ids: z.array(z.number().transform(String)) });
  const late = strings.transform(async ({ ids: [first] }) => first);
  expect(await readInput(strings as unknown as Schema, JSON.stringify({ ids }))).toEqual({
    ok: true,
    value: { ids: ids.map(String) },
    converted: JSON.stringify({ ids: ids.map(String) }),
  });
  const read = { ok: true, value: "0", converted: '"0"' };
  expect(await readInput(late as unknown as Schema, JSON.stringify({ ids }))).toEqual(read);
});

test("an input of as many values as are allowed is read, and one with more is not parsed", async () => {
  const rows = (values: number) => `{"rows":[${"0,".repeat(values - 3)}0]}`;
  const read = (values: number) => readInputOf({ name: "crm.find", input: anything }, rows(values), 10);
  expect(await read(10)).toMatchObject({ ok: true });
  expect(await read(11)).toEqual({ ok: "no_room", overdraft: { limit: "inputValues", allowed: 10, seen: 11 } });
});
