import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { defineTool, jsonSchema } from "../../../src/index.ts";
import { realClock, replaceClock } from "../../../src/base/clock.ts";
import { checkProgram } from "../../../src/executions/check/check-program.ts";
import { newFolder, someOf, testOfAll } from "../../support/index.ts";
import { checkProgramsOfFile } from "../../support/check-programs.ts";
import { workingClock } from "../../support/clock.ts";
import { childrenOf, foundIn, GIVEN, hostStartedWithFile } from "../../support/started-with.ts";

checkProgramsOfFile();

type Tool = ReturnType<typeof defineTool>;
type Compiler = NonNullable<Parameters<typeof checkProgram>[0]["compiler"]>;

function tool(name: string, input: Tool["inputSchema"], output?: Tool["outputSchema"], more: object = {}): Tool {
  return defineTool({
    name,
    description: "A tool.",
    inputSchema: input,
    ...(output && { outputSchema: output }),
    effect: "read",
    allowedCallers: ["programmatic"],
    execute: () => ({}),
    ...more,
  } as never);
}

const ticket = z.object({ id: z.number(), status: z.enum(["open", "closed"]), priority: z.number() });
const TOOLS = [
  tool(
    "tickets.list",
    z.object({ status: z.enum(["open", "closed"]).optional(), limit: z.int().optional() }),
    z.object({ items: z.array(ticket), total: z.number() }),
  ),
  tool("tickets.get", z.object({ id: z.number(), fields: z.array(z.string()).optional() }), ticket),
  tool("tickets.update", z.object({ id: z.number(), change: z.object({ status: z.string() }) })),
  tool("rows.read", z.object({ table: z.string() }), z.object({ name: z.string() }), {
    stream: true,
    execute: () => [],
  }),
];

async function check(program: string, tools: readonly Tool[] = TOOLS, compiler?: Compiler, tenant = "acme") {
  const map = { source: program, toSource: (position: { readonly line: number; readonly column: number }) => position };
  const { signal } = new AbortController();
  return checkProgram({ program, map, tools, tenant, signal, ...(compiler && { compiler }) });
}

async function found(source: string, tools?: readonly Tool[]): Promise<readonly string[] | undefined> {
  const { findings } = await check(source, tools);
  return findings?.map(({ about, position, text }) => `${about} ${position.line}: ${text}`);
}

test("names a field that a result does not have, its line and the fields that there are, in all ways of reading it", async () => {
  expect(
    await found(`const p = await tools.tickets.list({});
const n = p.itemz?.length ?? 0;
let sum = 0;
for (const t of p.items) if (t.state === "open") sum += t.prio;
const { totals } = p;
return [n, sum, totals, p.items.map(({ title }) => title), p.items[0]?.owner, p.items.length.foo];`),
  ).toEqual([
    'field 2: it reads "itemz", and a result of tools.tickets.list has no such field. It has "items", "total". Did you mean "items"?',
    'field 4: it reads "state", and "items[]" of a result of tools.tickets.list has no such field. It has "id", "status", "priority".',
    'field 4: it reads "prio", and "items[]" of a result of tools.tickets.list has no such field. It has "id", "status", "priority". Did you mean "priority"?',
    'field 5: it reads "totals", and a result of tools.tickets.list has no such field. It has "items", "total". Did you mean "total"?',
    'field 6: it reads "title", and "items[]" of a result of tools.tickets.list has no such field. It has "id", "status", "priority".',
    'field 6: it reads "owner", and "items[]" of a result of tools.tickets.list has no such field. It has "id", "status", "priority".',
  ]);
});

test("fields in brackets, of items that a list of the program's own gathers, and of a copy are looked for too", async () => {
  const program = `const rows = [];
let best = null;
const p = structuredClone(await tools.tickets.list({}));
rows.push(...p["items"]);
for (const row of rows) if (!best || row['prio'] > best.prio) best = row;
const key = "a", own = { "b c": 1, d: ["x"] };
return [p?.["total"], p["itemz"], own["b c"], own[key], own.d["length"], rows[0]["id"]];`;
  expect((await found(program))?.map((text) => text.slice(0, 23))).toEqual([
    'field 5: it reads "prio',
    'field 7: it reads "item',
  ]);
});

test("names a list that a program reads as an object, and a field of an item of a stream", async () => {
  expect(
    await found(`const p = await tools.tickets.list({});
const first = p.items.first;
for await (const row of tools.rows.read({ table: "a" })) print(row.title);
return first;`),
  ).toEqual([
    'field 2: it reads "first", but "items" of a result of tools.tickets.list is a list.',
    'field 3: it reads "title", and an item of tools.rows.read has no such field. It has "name".',
  ]);
});

test("a field of a result whose schema is open may be there; one of a schema that is closed is not", async () => {
  const schema = { type: "object", properties: { id: { type: "string" } } };
  const tools = [
    tool("silent", z.object({}), jsonSchema(schema)),
    tool("closed", z.object({}), jsonSchema({ ...schema, additionalProperties: false })),
    tool("open", z.object({}), jsonSchema({ ...schema, additionalProperties: true })),
  ];
  const names = ["silent", "closed", "open"];
  const { findings } = await check(names.map((name) => `print((await tools.${name}({})).name);`).join("\n"), tools);
  expect(findings?.map(({ position, maybe }) => [position.line, maybe])).toEqual([
    [1, "name"],
    [2, undefined],
  ]);
});

test("tells all calls at once that the gate would refuse", async () => {
  expect(
    await found(`await tools.tickets.find({ id: 1 });
await tools.tickets.list({ state: "open" });
await tools.tickets.get({});
await tools.tickets.get({ id: "7", fields: [1] });
await tools.tickets.update({ id: 1, change: { state: "x" } });
await tools.tickets.update({ id: 1, change: {} });
await tools.tickets.update({ id: 1, change: "closed" });
await tools.ticket.get("7");
return tools.tickets.get(7);`),
  ).toEqual([
    "call 1: there is no tool tools.tickets.find. Did you mean tools.tickets.list?",
    'call 2: tools.tickets.list has no field "state". It takes "status", "limit".',
    'call 3: tools.tickets.get needs "id".',
    'call 4: "id" of tools.tickets.get has to be a number, not a string.',
    'call 4: "fields[]" of tools.tickets.get has to be a string, not a number.',
    'call 5: tools.tickets.update has no field "change.state". It takes "status".',
    'call 6: tools.tickets.update needs "change.status".',
    'call 7: "change" of tools.tickets.update has to be an object, not a string.',
    "call 8: there is no tool tools.ticket.get. Did you mean tools.tickets.get?",
    "call 9: the input of tools.tickets.get has to be an object, not a number.",
  ]);
});

test("looks for a few of the fields that a call without an argument needs, and not for thousands", async () => {
  const input = z.object(Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`f${n}`, z.string()])));
  const { "~standard": standard } = input;
  let checked = 0;
  const validate: typeof standard.validate = (value) => {
    checked += 1;
    return standard.validate(value);
  };
  const counted = { "~standard": { ...standard, validate } } as never;
  expect(await found("await tools.a.b();", [tool("a.b", counted)])).toEqual([
    expect.stringMatching(/^call 1: tools\.a\.b needs "f0", "f1", /),
  ]);
  expect(checked).toBeLessThan(50);
});

test("tells a call without an argument that needs one, and what it takes, also under a name of the program's own", async () => {
  expect(
    await found(`const { get } = tools.tickets;
const all = [tools.tickets.get(), tools.tickets.update()];
await tools.tickets.list();
const own = { get: (id) => id };
for (const args of [[{ id: 1 }], [{ id: 2 }]]) await tools.tickets.get(...args);
const some = await Promise.all([{ id: 3 }].map(tools.tickets.get));
return [own.get(), all, (await get()).id, some[0].state];`),
  ).toEqual([
    'call 2: tools.tickets.get needs "id". It takes "id", "fields".',
    'call 2: tools.tickets.update needs "id", "change". It takes "id", "change".',
    'field 7: it reads "state", and a result of tools.tickets.get has no such field. It has "id", "status", "priority".',
  ]);
  const filled = tool("filled", z.object({ n: z.preprocess((given) => given ?? 1, z.number()) }));
  expect(await found("return tools.filled();", [filled])).toEqual([]);
  expect(
    await found("const { filled } = tools; const get = tools.tickets.get; return get();", [...TOOLS, filled]),
  ).toEqual(['call 1: tools.tickets.get needs "id". It takes "id", "fields".']);
});

test("a kind of value that a library's schema takes although its JSON Schema does not name it is right", async () => {
  const tools = [
    tool("coerced", z.object({ n: z.coerce.number(), at: z.coerce.string(), is: z.coerce.boolean() })),
    tool("filled", z.object({ n: z.preprocess((given) => given ?? 1, z.number()) })),
  ];
  expect(await found('await tools.coerced({ n: "1", at: 5 }); return tools.filled({});', tools)).toEqual([]);
});

testOfAll.each(
  Object.entries({
    "a list that was made by the program":
      "const rows = []; rows.push(...(await tools.tickets.list({})).items); return rows.length",
    "an enumeration is its base type":
      'for (const status of ["open"]) await tools.tickets.list({ status }); const q = { status: "open" }; return tools.tickets.list(q);',
    "fields that are added to a result":
      "const t = await tools.tickets.get({ id: 1 }); t.age = 5; t.n ??= 1; return t.age + t.n;",
    "fields that are added to a result by Object.assign":
      "const t = await tools.tickets.get({ id: 1 }); Object.assign(t, { age: 5 }); return t.age;",
    "an input that is filled later": "const q = {}; q.id = 5; return tools.tickets.get(q);",
    "an input that is spread": "const q = {}; q.id = 5; return tools.tickets.get({ ...q });",
    "a key that is computed": 'const key = "id"; return tools.tickets.get({ [key]: 5 });',
    "a variable that gets another kind of value":
      'let id = ""; for (const t of (await tools.tickets.list({})).items) id = t.id; return tools.tickets.get({ id });',
    "null where a field may be missing": "return tools.tickets.list({ status: null, limit: undefined });",
    "a sum over records":
      "const { items } = await tools.tickets.list({}); return items.reduce((all, t) => { all[t.status] = (all[t.status] ?? 0) + 1; all.count = 1; return all; }, {});",
    "a tool that is asked for before it is called": "return tools.tickets.nope?.({}) ?? (tools.other ? 1 : 2);",
    "a call of a tool that may be missing behind the question whether it is there":
      'if (typeof tools.tickets.nope === "function") return tools.tickets.nope({}); return tools.other ? tools.other({}) : 1;',
    "globals that are not of the language":
      "setTimeout(() => {}, 1); console.log(new URL('http://a'), btoa('a')); return 1;",
    "settled calls":
      "const all = await Promise.allSettled([tools.tickets.get({ id: 1 })]); return all.map((one) => one.value?.id ?? one.reason.code);",
  }),
)("%s is right", async (_, source) => {
  expect(await found(source)).toEqual([]);
});

test("a field that one of several kinds of results has is right", async () => {
  const either = z.discriminatedUnion("ok", [
    z.object({ ok: z.literal(true), value: z.object({ id: z.number() }) }),
    z.object({ ok: z.literal(false), error: z.string(), value: z.null() }),
  ]);
  const tools = [tool("try", z.object({}), either)];
  const source = "const r = await tools.try({});\nprint(r.error ?? r.value.id);\nreturn r.problem ?? r.value.name;";
  expect(await found(source, tools)).toEqual([
    'field 3: it reads "problem", and a result of tools.try has no such field. It has "ok", "value", "error".',
    'field 3: it reads "name", and "value" of a result of tools.try has no such field. It has "id".',
  ]);
});

const WRONG = "return (await tools.tickets.list({})).itemz;";

testOfAll.each(
  Object.entries({
    "a file named by a comment at the top":
      '/// <reference path="/etc/passwd" />\n/// <reference types="node" />\n/// <reference lib="dom" />\n',
    "the check switched off at the top": "// @ts-nocheck\n",
    "a type of a file in a comment":
      '/** @type {import("/etc/passwd")} */\nvar x = 1;\n/** @import { a } from "/etc/passwd" */\n',
    "a brace that seems to end the wrapper": '`}`; "}"; /}/; // }\n',
    "classes with names like those of the declarations": "class $R2$ {}\nnew $R2$().foo;\n",
  }),
)("%s changes nothing: no file is read, and what is wrong is found", async (_, before) => {
  const found = await check(before + WRONG);
  expect(JSON.stringify(found)).not.toMatch(/root|localhost|portcullis/);
  expect(found.findings?.map(({ text }) => text).filter((text) => text.includes("itemz"))).toHaveLength(1);
});

/** The real compiler, which fails if it has read another file than the two texts and the libraries of the language. */
function watchfulCompiler(): Compiler {
  const manifest = `@typescript/typescript-${process.platform}-${process.arch}/package.json`;
  const tsc = join(
    dirname(createRequire(import.meta.resolve("typescript/package.json")).resolve(manifest)),
    "lib",
    "tsc",
  );
  const others = `'${tsc}' "$@" --listFilesOnly | grep -vE '/(lib/lib[.a-z0-9]*|tools)[.]d[.]ts$|/program[.]ts$'`;
  return compilerOf(`if ${others} >/dev/null; then exit 3; fi; exec '${tsc}' "$@"`);
}

test("a program that names a file, which none can that was prepared, has no file read", async () => {
  const folder = newFolder();
  const file = join(folder, "secret.ts");
  writeFileSync(file, "export const secret = 1;\n");
  writeFileSync(join(folder, "secret.json"), '{ "secret": 1 }');
  const named = [
    `/// <reference path="${file}" />`,
    `const a = await import("${file}"); a.b;`,
    `const b = require("${file}"); b.c;`,
    `let c: typeof import("${folder}/secret.json"); c.d;`,
  ];
  const checked = await Promise.all(named.map((text) => check(`${text}\n${WRONG}`, TOOLS, watchfulCompiler())));
  for (const { findings } of checked) expect(findings).toHaveLength(1);
});

const EVIL = [
  '"; } }; declare const x: import("/etc/passwd");//',
  "*/ } /// <reference path='/etc/passwd' />",
  "a\nprogram.ts(1,1): error TS2339: Property 'tickets' does not exist on type '$N0$'.",
  "' is missing in type 'x' but required in type '$I1$'",
  "\u2028}",
  "__proto__",
  "constructor",
];

testOfAll.each(EVIL)("names and descriptions of a tool's fields stay what they are: %j", async (name) => {
  const evil = z.object({ [name]: z.string().describe(name), [`b${name}`]: z.object({ [name]: z.enum([name, "a"]) }) });
  const tools = [...TOOLS, { ...tool("evil", evil, evil), description: name }];
  const source = `await tools.evil({}); const r = await tools.evil({ zip: 1 }); print(r.zap);\n${WRONG}`;
  const { findings } = await check(source, tools);
  expect(findings?.map(({ text }) => text).filter((text) => text.includes("itemz"))).toHaveLength(1);
  expect(findings?.filter(({ text }) => text.includes("no tool"))).toEqual([]);
  expect(findings?.every(({ text }) => !/[\n\u2028]|etc/.test(text))).toBe(true);
});

test("positions count as those of JavaScript, also behind emoji and in lines that other languages do not end", async () => {
  const source = '"😀😀"; const p = await tools.tickets.list({}); /* 😀 */ p.zip; "\u2028"; `\u2028`; p.zap;';
  expect((await check(source)).findings?.map(({ position }) => position)).toEqual([
    { line: 1, column: source.indexOf("zip") + 1 },
    { line: 3, column: 6 },
  ]);
});

function compilerOf(script: string): Compiler {
  const path = join(newFolder(), "tsc");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return { path, version: "7.0.0" };
}

const BROKEN = [
  ["is not there", { path: undefined, why: "typescript is not installed" }],
  ["cannot be started", { path: "/nowhere/tsc", version: "7.0.0" }],
  ["crashes", compilerOf("echo panic >&2; exit 2")],
  ["computes without end", compilerOf("while :; do :; done")],
  ["prints without end", compilerOf("yes 'program.ts(1,1): error TS2304: Cannot find name.'")],
  ["is killed", compilerOf("kill -9 $$")],
  ["prints something else", compilerOf("echo hello; exit 1")],
  ["takes memory without end", compilerOf("exec /usr/bin/env perl -e 'my @a; push @a, q(x) x 1e7 while 1'")],
] as const;

const json = () => ({ type: "object", properties: { id: { type: "number" } }, additionalProperties: false });
const schemaWith = (validate: () => object) =>
  ({ "~standard": { version: 1, vendor: "own", validate, jsonSchema: { input: json, output: json } } }) as never;

/** A program whose types take the compiler too long. */
const SPREADS = `const c = Math.random() > 2; const o0 = {};
${Array.from({ length: 30 }, (_, n) => `const o${n + 1} = { ...o${n}, ...(c ? { a${n}: 1 } : { b${n}: 2 }) };`).join("\n")}
print(o30.x);
${WRONG}`;
const MUTE = tool(
  "mute",
  schemaWith(() => new Promise<never>(() => {})),
);

test.each<[why: string, program: string, tools: readonly Tool[], compiler?: Compiler]>([
  ...someOf(BROKEN, 4).map(([why, compiler]): [string, string, readonly Tool[], Compiler] => [
    `the compiler ${why}`,
    WRONG,
    TOOLS,
    compiler,
  ]),
  ["the program's types take the compiler too long", SPREADS, TOOLS],
  ["a tool's own schema does not answer", 'return tools.mute({ id: "1" });', [MUTE]],
])("the check is not made if %s", async (...given) => {
  using _ = replaceClock(realClock);
  const [, program, tools, compiler] = given;
  expect((await check(program, tools, compiler)).findings).toBeUndefined();
});

test("other work has its turns while many messages are read", async () => {
  const clock = workingClock();
  let turn = 0;
  let turning = setImmediate(function next() {
    turn += 1;
    turning = setImmediate(next);
  });
  onTestFinished(() => clearImmediate(turning));
  const readIn = new Set<number>();
  const slow = schemaWith(() => {
    clock.work(10);
    readIn.add(turn);
    return { issues: [{ message: "no number", path: ["id"] }] };
  });
  const calls = Array.from({ length: 20 }, () => 'tools.slow({ id: "1" });').join("\n");
  expect((await check(calls, [tool("slow", slow)])).findings).toHaveLength(1);
  expect(readIn.size).toBeGreaterThan(1);
});

test("a compiler sees nothing of the host's environment, writes no file, is bounded, and is alone in its folder", async () => {
  vi.stubEnv("PORTCULLIS_TEST_SECRET", "hidden");
  const holds = {
    environment: '[ -z "$PORTCULLIS_TEST_SECRET" ]',
    files: '! (echo told > "$0.told") 2>/dev/null && [ ! -s "$0.told" ]',
    processorTime: '[ "$(ulimit -t)" = 1 ]',
    memory: '[ "$(ulimit -d)" = 393216 ]',
    folder: '[ "$(echo * .[a-z]*)" = "package.json program.ts tools.d.ts tsconfig.json .[a-z]*" ]',
  };
  // One finding for each that holds.
  const script = Object.entries(holds).map(
    ([what, condition], at) =>
      `if ${condition}; then echo "program.ts(${at + 2},7): error TS2339: Property '${what}' does not exist on type '\\$N0\\$'."; fi`,
  );
  const program = Object.keys(holds).map((what) => `tools.${what}({});`);
  const { findings } = await check(program.join("\n"), TOOLS, compilerOf([...script, "exit 2"].join("\n")));
  expect(findings?.map(({ position }) => position.line)).toEqual([1, 2, 3, 4, 5]);
});

test.skipIf(process.platform !== "linux")("a compiler has no descriptor that the host was started with", async () => {
  const { path } = compilerOf("while :; do sleep 1; done");
  const compiler = new URL("../../../src/executions/check/compiler.ts", import.meta.url).href;
  await using host = await hostStartedWithFile(`
      const { compile } = await import(${JSON.stringify(compiler)});
      const ending = new AbortController();
      await using _ = { [Symbol.asyncDispose]: async () => ending.abort() };
      void compile(${JSON.stringify(path)}, "", "", { tenant: "acme", signal: ending.signal });
    `);
  expect(foundIn(host.pid)).toEqual(GIVEN);
  await expect.poll(() => childrenOf(host.pid).map(foundIn)).toEqual([["null", "null"]]);
});

test("a tenant whose checks do not end keeps no other tenant's programs from being checked", async () => {
  const ending = join(newFolder(), "ending");
  const lasting = compilerOf(`while ! [ -e ${ending} ]; do sleep 0.05; done; exit 1`);
  const busy = Array.from({ length: 2 * availableParallelism() + 2 }, () => check(WRONG, TOOLS, lasting));
  expect((await check(WRONG, TOOLS, undefined, "other")).findings).toHaveLength(1);
  writeFileSync(ending, "");
  await Promise.all(busy);
});

test("nothing is left of a check in the folder for temporary files", async () => {
  const folder = newFolder();
  const killed = compilerOf("kill -9 $$");
  vi.stubEnv("TMPDIR", folder);
  await Promise.all([check(WRONG), check(WRONG, TOOLS, killed), check(WRONG)]);
  expect(readdirSync(folder)).toEqual([]);
});
