import { afterAll, describe, expect, test } from "vitest";
import type { Tool } from "../../src/tools/tool.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { broken, echo, later, someOf } from "../support/index.ts";

/** Programs that use a call's promise as its result, with the place and the code of the fault. */
const FORGETFUL: readonly [program: string, line: number, column: number, code?: string][] = [
  ["const r = tools.echo({ n: 1 });\nreturn `n is ${r}`;", 2, 16, "await_missing"],
  ["const r = tools.echo({ n: 1 });\nreturn r + 1;", 2, 10, "await_missing"],
  ["const r = tools.echo({ n: 1 });\nreturn Number(r);", 2, 8, "await_missing"],
  ["const r = tools.echo({ n: 1 });\nreturn ({})[r];", 2, 12, "await_missing"],
  ["const r = tools.echo({ n: 1 });\nreturn JSON.stringify({ r });", 2, 13, "await_missing"],
  ["const r = tools.echo({ n: 1 });\nreturn r.n;", 2, 10, "await_missing"],
  ["const r = tools.echo({ n: 1 });\nreturn r?.n ?? 'none';", 2, 9, "await_missing"],
  ["const r = tools.echo({ n: 1 });\nconst { n } = r;\nreturn n;", 2, 9, "await_missing"],
  ["const r = tools.echo({ n: 1 });\nreturn Array.from(r);", 2, 14, "await_missing"],
  ["const r = tools.echo({ n: 1 });\nreturn [...r];", 2, 12],
  ["const r = tools.echo({ n: 1 });\nfor (const one of r) console.log(one);", 2, 19],
  ["const r = tools.echo({ n: 1 });\nfor await (const one of r) console.log(one);", 2, 25],
  ["await tools.later();\nconst n = tools.echo({ n: 1 });\nreturn { rows: [n] };", 2, 11, "value_not_json"],
  ["const n = tools.echo({ n: 1 });\nawait tools.later({ n });", 2, 13, "input_invalid"],
  ["const r = tools.echo({ n: 1 });\nawait r;\nreturn r.n.toFixed();", 3, 10],
];

/** Right programs that do unusual things with promises of calls. */
const RIGHT: Readonly<Record<string, readonly [program: string, returns: unknown]>> = {
  "collects promises in an array, a Map and an object": [
    "const list = [tools.echo({ n: 1 })]; const map = new Map([['b', tools.echo({ n: 2 })]]); const record = { c: tools.echo({ n: 3 }) };\nreturn (await Promise.all([...list, ...map.values(), ...Object.values(record)])).map(({ n }) => n);",
    [1, 2, 3],
  ],
  "keeps promises in a cache": [
    "const cache = {}; const kept = new Map();\nconst get = (n) => (cache[n] ??= tools.echo({ n }));\nconst take = (n) => { if (!kept.get(n)) kept.set(n, tools.echo({ n })); return kept.get(n); };\nreturn (await Promise.all([get(1), get(1), take(2), take(2)])).map(({ n }) => n).concat(get(1) === get(1));",
    [1, 1, 2, 2, true],
  ],
  "asks what a value is before it awaits it": [
    "const p = tools.echo({ n: 1 });\nconst seen = [p instanceof Promise, typeof p.then === 'function', p?.catch !== undefined, p.constructor === Promise, Object.prototype.toString.call(p) === '[object Promise]', p[Symbol.toStringTag] === 'Promise', typeof p[Symbol.iterator] === 'undefined', (p == null) === false, p === p, !p === false, Array.isArray(p) === false, 'then' in p, typeof p.hasOwnProperty === 'function', [].concat(p).length === 1, [p].flat().length === 1, Object.keys(p).length === 0, typeof p.finally === 'function', p.valueOf() === p];\nreturn [seen.indexOf(false), (await p).n];",
    [-1, 1],
  ],
  "keeps a flag of its own on a promise that it waits for": [
    "const running = [1, 2, 3].map((n) => { const p = tools.later({ n, ms: n }); p.then(() => { p.done = true; }); return p; });\nconst left = running.filter((p) => !p.done).length;\nawait Promise.race(running);\nreturn [left, running.filter((p) => p.done).length >= 1];",
    [3, true],
  ],
  "freezes its promises": [
    "const p = Object.freeze(tools.echo({ n: 1 }));\nreturn [(await p).n, (await p.then(({ n }) => n + 1))];",
    [1, 2],
  ],
  "races, takes the first and settles": [
    "const all = () => [tools.echo({ n: 1 }), tools.echo({}).then(() => tools.later({ n: 2, ms: 30 }))];\nreturn [(await Promise.race(all())).n, (await Promise.any([tools.broken(), ...all()])).n, (await Promise.allSettled([...all(), tools.broken()])).map(({ status }) => status)];",
    [1, 1, ["fulfilled", "fulfilled", "rejected"]],
  ],
  "passes promises through resolve, a constructor and a subclass": [
    "class Mine extends Promise {}\nreturn [(await Promise.resolve(tools.echo({ n: 1 }))).n, (await new Promise((resolve) => resolve(tools.echo({ n: 2 })))).n, (await Mine.resolve(tools.echo({ n: 3 }))).n, Promise.resolve(tools.echo({})) instanceof Promise];",
    [1, 2, 3, true],
  ],
  "returns a promise from a function and from a generator": [
    "const get = async (n) => tools.echo({ n }); async function* pages() { yield tools.echo({ n: 2 }); }\nconst seen = [(await get(1)).n]; for await (const { n } of pages()) seen.push(n);\nfor await (const { n } of [tools.echo({ n: 3 })]) seen.push(n);\nreturn seen;",
    [1, 2, 3],
  ],
  "uses methods that it adds to promises": [
    "Promise.prototype.pick = function (key) { return this.then((value) => value[key]); };\nreturn await tools.echo({ n: 4 }).pick('n');",
    4,
  ],
  "limits how many calls run at once": [
    "const active = new Set(); const seen = [];\nfor (const n of [1, 2, 3, 4]) { const p = tools.later({ n }).then((r) => { active.delete(p); seen.push(r.n); }); active.add(p); if (active.size >= 2) await Promise.race(active); }\nawait Promise.all(active);\nreturn seen.toSorted();",
    [1, 2, 3, 4],
  ],
  "catches a failure late": [
    "const p = tools.broken();\nawait tools.later({});\nreturn await p.catch(({ code }) => code);",
    "handler_failed",
  ],
};

const SANDBOXES = [
  ["isolate", createIsolateSandbox()],
  ["memory", createMemorySandbox()],
] as const;

describe.each(someOf(SANDBOXES, 1))("on the %s sandbox", (_name, sandbox) => {
  afterAll(() => sandbox[Symbol.asyncDispose]());
  const start = (...tools: readonly Tool[]) => createRuntime({ sandbox, tools: [echo, later, broken, ...tools] });

  test.each(FORGETFUL)(
    "a call's promise that is used as its result is an error at its place: %j",
    async (program, line, column, code) => {
      await using runtime = await start();
      const { outcome, output } = await runtime.execute(program);
      expect(outcome).toMatchObject({
        type: "failed",
        fault: { line, column, ...(code === undefined ? {} : { code }) },
      });
      expect(output.text).toMatch(/[Dd]id you forget await\?/);
      expect(output.text).toContain("tools.echo(…)");
    },
  );

  test.each(Object.entries(RIGHT))(
    "a correct program completes and replays: one that %s",
    async (_, [program, returns]) => {
      await using runtime = await start();
      const { outcome, execution, notes, remarks } = await runtime.execute(program);
      expect(outcome).toEqual({ type: "completed", value: returns });
      expect(remarks).toEqual([]);
      expect(notes.join()).not.toMatch(/did not await it/);
      expect(await runtime.execution(execution).replay()).toEqual({ type: "identical" });
    },
  );

  test("another error names the call that was not awaited", async () => {
    await using runtime = await start();
    const { outcome, output } = await runtime.execute(
      "const r = tools.echo({});\nlet n = 0;\ntry { n = r.n; } catch {}\nthrow new Error('no n');",
    );
    expect(outcome).toMatchObject({ type: "failed", fault: { message: "no n", unawaited: "echo" } });
    expect(output.text).toMatch(/^.*forget await.*tools\.echo/m);
  });
});

/** Programs whose value says nothing of what was lost, and what they are told of it. */
const LOST: Readonly<Record<string, readonly [program: string, remark: string]>> = {
  "calls an async function and goes on": [
    "let sum = 0;\nconst add = async () => {\n  throw new RangeError('no rate');\n};\nadd();\nreturn sum;",
    "at line 3, and the program did not await it then: RangeError: no rate",
  ],
  "chains a call and goes on": [
    "let sum = 0;\nfor (const n of [1, 2]) tools.broken({ n }).then((row) => { sum += row.n; });\nawait tools.later({});\nawait tools.later({});\nreturn sum;",
    "did not await it then: ToolError: broken failed",
  ],
  "starts many, and collects none": [
    "const sums = [];\n[1, 2].map(async (n) => { const row = await tools.echo({ n }); sums.push(row.total.sum); });\nawait tools.later({});\nawait tools.later({});\nreturn sums;",
    "at line 2, and the program did not await it then: TypeError: Cannot read properties of undefined (reading 'sum')",
  ],
  "rejects with what is no error": ["Promise.reject('a'.repeat(9000) + ' the end');\nreturn 1;", "the end"],
};

describe("a promise of the program's own that is rejected", () => {
  const sandbox = createIsolateSandbox();
  afterAll(() => sandbox[Symbol.asyncDispose]());
  const start = () => createRuntime({ sandbox, tools: [echo, later, broken] });

  test.each(Object.entries(LOST))(
    "is told of with its words, also when replayed: a program %s",
    async (_, [program, remark]) => {
      await using runtime = await start();
      const { execution, outcome, output, remarks } = await runtime.execute(program);
      expect(outcome.type).toBe("completed");
      expect(remarks[0]).toContain("A promise was rejected");
      expect(remarks[0]).toContain(remark);
      expect(output.text).toContain(remark);
      expect(await runtime.execution(execution).replay()).toEqual({ type: "identical" });
    },
  );

  test("is not told of where the program handles it in time", async () => {
    await using runtime = await start();
    const { remarks } = await runtime.execute(
      "const no = async () => { throw new Error('no'); };\nawait Promise.allSettled([no(), tools.broken()]);\nno().catch(() => {});\nreturn await Promise.any([no(), tools.echo({ n: 1 })]);",
    );
    expect(remarks).toEqual([]);
  });
});
