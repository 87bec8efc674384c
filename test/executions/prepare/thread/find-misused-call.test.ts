import { expect, test } from "vitest";
import { prepare, resultKinds } from "../../../../src/executions/prepare/prepare.ts";
import { tool } from "../../../support/tools.ts";
import { ORDINARY_PROGRAMS } from "../../ordinary-programs.ts";

const TOOLS = resultKinds([
  ...["echo", "later", "broken", "crm.find", "crm.list"].map((name) => tool(name, () => null)),
  { ...tool("crm.each", () => []), stream: true },
]);

async function faultOf(source: string): Promise<unknown> {
  const prepared = await prepare(source, "javascript", { tenant: "" }, TOOLS);
  if (prepared.ok) return undefined;
  const { code, line, column, message } = prepared.fault;
  // The sentence about a stream says how it is read.
  if (code === "stream_misused") expect(message).toContain("for await");
  return [code, line, column];
}

test.each<[source: string, line: number, column: number, code?: string]>([
  ["if (tools.crm.find({})) return 1", 1, 5],
  ["while (!tools.echo()) {}", 1, 9],
  ["return tools.echo() ? 1 : 2", 1, 8],
  ["return tools.echo() || 1", 1, 8],
  ["return tools.echo() === 'a'", 1, 8],
  ["return `${tools.echo()}`", 1, 11],
  ["return tools.crm.list().length", 1, 8],
  ["return tools['crm.list']().length", 1, 8],
  ["const { items } = tools.crm.list();", 1, 19],
  ["for (const row of tools.crm.list()) {}", 1, 19],
  ["return [...tools.crm.list()]", 1, 12],
  ["const row = tools.crm.find();\nreturn { ...row, a: 1 }", 1, 13],
  ["return Object.keys(tools.crm.find())", 1, 20],
  ["return { a: { b: [tools.echo()] } }", 1, 19],
  ["const { find } = tools.crm;\nif (find()) return 1", 2, 5],
  ["const crm = tools.crm; const get = crm.find;\nreturn get().a", 2, 8],
  ["async function open(row) {}\nif (open(1)) return 1", 2, 5],
  ["return rows.filter(async (row) => row.open)", 1, 20],
  ["return rows.map((row) => row).find((row) => tools.echo(row))", 1, 36],
  ["rows.forEach(async (row) => { await tools.echo(row) })", 1, 14],
  ["rows.forEach(async (row) => { for await (const one of row) {} })", 1, 14],
  ["rows.sort(async (a, b) => 1)", 1, 11],
  ["enum Kind { A }\nif (tools.echo()) return Kind.A", 2, 5],
  ["```js\nif (tools.echo()) return 1\n```", 2, 5],
  ["if (tools.crm.each({})) return 1", 1, 5, "stream_misused"],
  ["if (await tools.crm.each({})) return 1", 1, 5, "stream_misused"],
  ["return tools.crm.each() === 'a'", 1, 8, "stream_misused"],
  ["return (await tools.crm.each()).length", 1, 9, "stream_misused"],
  ["return tools.crm.each().map((row) => row)", 1, 8, "stream_misused"],
  ["const [first] = await tools.crm.each();", 1, 17, "stream_misused"],
  ["for (const row of await tools.crm.each()) {}", 1, 19, "stream_misused"],
  ["return [...(await tools.crm.each())]", 1, 13, "stream_misused"],
  ["return Object.keys(await tools.crm.each())", 1, 20, "stream_misused"],
  ["return { rows: [tools.crm.each()] }", 1, 17, "stream_misused"],
  ["const { each } = tools.crm;\nif (each()) return 1", 2, 5, "stream_misused"],
  ["return rows.map((row) => await (row))", 1, 26, "await_not_async"],
])("a promise used as its result, or a stream as its items, is refused: %j", async (source, line, column, code) => {
  expect(await faultOf(source)).toEqual([code ?? "await_missing", line, column]);
});

test.each(["1234567890123456789", "9_007_199_254_740_993"])(
  "a number that JavaScript rounds is refused: %s",
  async (id) => {
    const program = `const id = 1;\nreturn await tools.crm.find({ id: ${id} });`;
    const { fault } = (await prepare(program, "javascript", { tenant: "" }, TOOLS)) as { readonly fault: object };
    const digits = id.replaceAll("_", "");
    expect(fault).toMatchObject({ code: "number_rounded", line: 2, column: 35 });
    expect(fault).toHaveProperty(
      "message",
      expect.stringMatching(`^JavaScript keeps ${digits} as -?\\d+: write "${digits}"`),
    );
  },
);

test.each([
  "9007199254740992",
  "23151491977037950",
  "99999999999999999",
  "1e21",
  "1234567890123456789n",
  "0.1234567890123456789",
  '"1234567890123456789"',
])("a number that is kept as it is, or no whole one, is none of these: %s", async (number) => {
  expect(await faultOf(`return await tools.crm.find({ id: ${number} });`)).toBeUndefined();
});

test.each([
  ...ORDINARY_PROGRAMS.map(({ program }) => program),
  "if (await tools.echo()) return 1",
  "return await Promise.all([tools.echo(), tools.later()])",
  "return a && tools.echo()",
  "const p = a ? tools.echo() : null;\nif (p) await p",
  "let p = tools.echo();\nwhile (p) { await p; p = null }",
  "const cache = new Map(); if (!cache.has(1)) cache.set(1, tools.echo());\nreturn cache.get(1)",
  "const get = (n) => (cache[n] ??= tools.echo({ n }));",
  "return tools.echo().then((r) => r.n).catch(() => 0)",
  "return tools.echo() instanceof Promise",
  "const all = [];\nrows.forEach(async (row) => { all.push(tools.echo(row)) });\nreturn await Promise.all(all)",
  "const lazy = { forEach(f) { return f() } };\nawait lazy.forEach(async () => { await tools.echo() })",
  "return (await Promise.all(rows.flatMap(async (row) => [row]))).filter((row) => row)",
  "const lazy = { filter(f) { return f }, async find(f) { return f() } };\nreturn [lazy.filter(async () => 1), await lazy.find(async () => 2)]",
  "class Rows { some(f) { return f } }\nreturn new Rows().some(async () => 1)",
  "const tools = { echo: () => false };\nif (tools.echo()) return 1",
  "const has = (tools) => tools.unknown() && 1;\nreturn has({ unknown() {} })",
  "async function check() {}\n{ const check = () => false; if (check()) return 1 }",
  "let f = async () => 1; f = () => 1;\nif (f()) return 1",
  "for await (const row of tools.crm.each({})) if (row.id) break",
  "const rows = tools.crm.each({});\nconst one = (await rows[Symbol.asyncIterator]().next()).value;\nreturn one",
  "return await Array.fromAsync(tools.crm.each({}))",
  "const { each } = tools.crm;\nfor await (const { id } of each()) console.log(id)",
  "Promise.prototype.pick = function () { return 1 };\nreturn tools.echo().pick()",
  "const row = await tools.echo();\nreturn { ...row }",
  "Object.assign(tools.echo(), { label: 1 })",
  "const a = b; const b = a;\nif (a()) return 1",
  "return 'if (tools.echo()) return 1'",
])("a right program is not refused: %j", async (source) => {
  expect(await faultOf(source)).toBeUndefined();
});

test("a long program of conditions and names takes time in proportion to its length", async () => {
  const chain = Array.from({ length: 1500 }, (_, n) => `const a${n + 1} = a${n};`).join("\n");
  expect(await faultOf(`${chain}\nif (a1500()) return 1`)).toBeUndefined();
  expect(await faultOf(`return ${"a && ".repeat(1500)}b`)).toBeUndefined();
});
