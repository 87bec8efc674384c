import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool, jsonSchema, type Tool } from "../../src/index.ts";
import { runtimeWith } from "../support/runtime.ts";

const about = { inputSchema: z.object({}), allowedCallers: ["programmatic"], effect: "read" } as const;
const NUMBERS = [
  ["9007199254740991", 9007199254740991],
  ["9007199254740993", "9007199254740993"],
  ["-9007199254740993", "-9007199254740993"],
  ["9007199254740994", 9007199254740994],
  ["1234567890123456789", "1234567890123456789"],
  ["1234567890123456800", "1234567890123456800"],
  ["1000000000000000000", 1e18],
  ["-100000000000000000000", -1e20],
  ["1000000000000000000000", "1000000000000000000000"],
  ["9".repeat(500), "9".repeat(500)],
] as const;
const TEXT = `[${NUMBERS.map(([digits]) => digits).join()}]`;
const VALUES = NUMBERS.map(([, value]) => value);

const tool = (name: string, handler: () => unknown, outputSchema?: ReturnType<typeof jsonSchema>) =>
  defineTool({ ...about, name, description: "D.", outputSchema, execute: handler as () => never });
const start = (...tools: readonly Tool[]) => runtimeWith(tools, { observeResults: true });

const row = tool("db.row", () => NUMBERS.map(([digits]) => BigInt(digits)));
const text = tool("db.text", () => TEXT);

test("a whole number is one value in a result and in its text: digits are lost nowhere", async () => {
  await using runtime = await start(row, text);
  const { outcome } = await runtime.execute("return [await tools.db.row({}), JSON.parse(await tools.db.text({}))]");
  expect(outcome).toMatchObject({ type: "completed", value: [VALUES, VALUES] });
});

test("digits within a text, of a name or of another number stay as they are", async () => {
  const written = String.raw`{"1234567890123456789":["\",9007199254740993,\\",1e-1234567890123456,0.9007199254740993123,90071992547409931.5]}`;
  await using runtime = await start(tool("db.quoted", () => written));
  const { outcome } = await runtime.execute("return JSON.parse(await tools.db.quoted({}))");
  expect(outcome).toMatchObject({ value: JSON.parse(written) as unknown });
  const { outcome: refused } = await runtime.execute("return JSON.parse('{1234567890123456789: 1}')");
  expect(refused).toMatchObject({ fault: { name: "SyntaxError" } });
});

test("JSON.parse of a program calls its reviver with such a number, and is a function as before", async () => {
  await using runtime = await start();
  const { outcome } = await runtime.execute(
    `return [JSON.parse('{"a":9007199254740993,"b":1.5,"c":9007199254740993.5}', (key, value) => (key === "b" ? 2 : value)), JSON.parse.length, JSON.parse.name];`,
  );
  expect(outcome).toMatchObject({ value: [{ a: "9007199254740993", b: 2, c: 9007199254740994 }, 2, "parse"] });
});

test("the stub says so of a result that was seen", async () => {
  await using runtime = await start(tool("db.one", () => ({ id: 1234567890123456789n })));
  await runtime.execute("return await tools.db.one({})");
  expect(runtime.declarations()).toContain("Promise<{ id: string /* integer as text */ }>");
});

test("the stub says so of a declared result too, once such a text was seen, to its tenant", async () => {
  const id = { type: "integer", format: "int64" };
  const schema = {
    type: "object",
    properties: {
      id: { ...id, description: "Of the row" },
      total: id,
      owner: { $ref: "#/$defs/owner" },
      tags: { type: "array", items: { anyOf: [{ $ref: "#/$defs/id" }, { type: "null" }] } },
      name: { type: "string" },
    },
    $defs: { id, owner: { type: "object", properties: { id: { $ref: "#/$defs/id" }, of: { $ref: "#/$defs/owner" } } } },
  };
  const long = 1234567890123456789n;
  let result: object = { id: 1, name: String(long) };
  await using runtime = await start(tool("db.declared", () => result, jsonSchema(schema)));
  const before = runtime.declarations();
  await runtime.execute("return await tools.db.declared({})");
  expect(runtime.declarations()).toBe(before);
  result = { id: long, total: 2, owner: { id: long }, tags: [1, long], name: String(long) };
  await runtime.execute("return await tools.db.declared({})");
  const type =
    "{ id?: number | string /* integer as text; Of the row */, total?: number, owner?: { id?: number | string /* integer as text */, of?: { id?: number, of?: unknown } }, tags?: (number | string | null)[], name?: string }";
  expect(runtime.declarations()).toBe(`tools.db.declared(input: {}): Promise<${type}> // D.`);
  const [found] = await runtime.searchTools("declared");
  expect(found?.stub).toBe(`tools.db.declared(input: {}): Promise<${type}>`);
  await using other = runtime.derive({ tenant: "acme" });
  expect(other.declarations()).toBe(before);
});

test("the stub copies only so much of a declared result, to whose parts many references may lead", async () => {
  const properties = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`f${n}`, { type: "integer" }]));
  const $defs = { row: { type: "object", properties } };
  const anyOf = Array.from({ length: 1000 }, () => ({ $ref: "#/$defs/row" }));
  const schema = jsonSchema({ type: "object", $defs, anyOf });
  const declared = tool("db.declared", () => ({ f1: 1234567890123456789n }), schema);
  await using runtime = await start(declared);
  await runtime.execute("return await tools.db.declared({})");
  const { observed } = runtime.shown(declared);
  expect(JSON.stringify(observed?.schema).length).toBeLessThan(3 * JSON.stringify({ $defs, anyOf }).length);
});

test("a text stands for a number up to a thousand digits: a schema asks for each of its parts", async () => {
  const { validate } = jsonSchema({ type: "integer" })["~standard"];
  expect(await validate("9".repeat(300))).not.toHaveProperty("issues");
  expect(await validate("9".repeat(2000))).toHaveProperty("issues");
});
