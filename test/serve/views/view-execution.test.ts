import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { showText } from "../../../src/cli/commands/journal/show.ts";
import { createRuntime, defineTool } from "../../../src/index.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import { createMemoryJournal } from "../../../src/journal/memory-journal.ts";
import { createSqliteJournal } from "../../../src/journal/sqlite/sqlite-journal.ts";
import { createMemorySandbox, scriptedModel } from "../../../src/runtime/testing.ts";
import type { ListFilter, ListView } from "../../../src/serve/views/list/list.ts";
import { listView } from "../../../src/serve/views/list/list-view.ts";
import type { ConversationView, ExecutionView, ProgramView } from "../../../src/serve/views/view.ts";
import { viewCall, viewExecution } from "../../../src/serve/views/view-execution.ts";
import { header, turn } from "../../journal/records.ts";
import { ALL_TESTS, testOfAll } from "../../support/all-tests.ts";
import { makeTool } from "../../support/tools.ts";
import { memoryFolder } from "../../support/memory-folder.ts";

const numbers = z.object({ n: z.number() });
const common = { description: "d", inputSchema: numbers, allowedCallers: ["programmatic", "direct"] } as const;
const listed = (journal: Journal, filter: ListFilter = {}) => listView(journal, filter, () => true);
const rowsOf = (n: number) => Array.from({ length: n }, (_, id) => ({ id }));
const tools = [
  defineTool({ ...common, name: "shop.rows", effect: "read", execute: ({ n }) => rowsOf(n) }),
  defineTool({ ...common, name: "fail", effect: "read", execute: () => Promise.reject(new Error("no")) }),
  defineTool({ ...common, name: "pay", effect: "write", approval: "always", execute: ({ n }) => n }),
];

const wholeCall = (...whose: [Journal, string, string]) => viewCall(...whose, () => {});

async function open() {
  const journal = createMemoryJournal();
  const runtime = await createRuntime({
    tools,
    journal,
    sandbox: createMemorySandbox(),
    approve: () => "later",
    logger: { error: () => {} },
  });
  return { journal, runtime, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() };
}

const PROGRAM = `console.log("begin");
const rows = await tools.shop.rows({ n: 3 });
await Promise.allSettled([tools.fail({ n: 1 }), tools.shop.rows({ n: "x" })]);
console.error("end");
return rows.length;`;

function assertProgram(view: ExecutionView): asserts view is ProgramView {
  expect(view.kind).toBe("program");
}

test("a program's view has its calls with sizes, lines and texts, its logs, and its funnel", async () => {
  await using one = await open();
  const report = await one.runtime.execute(PROGRAM, { id: "e1" });
  const view = await viewExecution(one.journal, "e1");
  assertProgram(view);
  expect(view).toMatchObject({ state: "ended", driven: false, source: PROGRAM, outcome: { type: "completed" } });
  expect(view.calls).toMatchObject([
    { id: "1", tool: "shop.rows", state: "value", detail: "array of 3", bytes: 28 },
    { id: "2", tool: "fail", state: "failed", detail: "handler_failed" },
    { id: "3", tool: "shop.rows", state: "refused", detail: "input_invalid" },
  ]);
  expect(view.calls[0]).toMatchObject({ input: { text: '{"n":3}' }, result: { text: '[{"id":0},{"id":1},{"id":2}]' } });
  expect(view.calls[2]?.result?.text).toContain("expected number");
  expect(view.places).toContainEqual({ tool: "shop.rows", lines: [2, 3] });
  expect(view.logs).toMatchObject([
    { stream: "stdout", text: "begin\n" },
    { stream: "stderr", text: "end\n" },
  ]);
  expect(view.output?.text).toBe(report.output.text);
  expect(view.funnel).toMatchObject({
    fetched: { bytes: report.usage.bytesIn },
    seen: { bytes: report.usage.bytesSeen },
    returned: { bytes: report.usage.bytesOut },
  });
  expect(view.limits.find(({ name }) => name === "calls")).toEqual({ name: "calls", used: 3, allowed: 10_000 });
  expect(JSON.parse(JSON.stringify(view))).toEqual(view);
});

test("texts are cut to what a view may hold, and one call's are given whole", async () => {
  await using one = await open();
  await one.runtime.execute("return (await tools.shop.rows({ n: 500 })).length;", { id: "e1" });
  const bounds = { each: 10, all: 15 };
  const { calls } = await viewExecution(one.journal, "e1", bounds);
  expect(calls[0]?.input).toEqual({ text: '{"n":500}', bytes: 9 });
  expect(calls[0]?.result).toEqual({ text: '[{"id"', bytes: calls[0]?.bytes, cut: true });
  const whole = await wholeCall(one.journal, "e1", "1");
  expect(JSON.parse(whole.result ?? "")).toHaveLength(500);
  await expect(wholeCall(one.journal, "e1", "9")).rejects.toMatchObject({ code: "call_unknown" });
});

test("a held call is shown with its whole input, and its decision once there is one", async () => {
  await using one = await open();
  await one.runtime.execute("await tools.pay({ n: 7 });", { id: "e1" });
  const waits = await viewExecution(one.journal, "e1");
  expect(waits).toMatchObject({
    state: "waiting",
    waiting: [{ id: "1", tool: "pay", why: "approval", effect: "write", input: { text: '{"n":7}' } }],
  });
  await one.runtime.execution("e1").decide({ "1": { allow: true, by: "ann", note: "checked" } });
  const decided = await viewExecution(one.journal, "e1");
  expect(decided).toMatchObject({
    state: "running",
    waiting: [],
    calls: [{ decision: { decision: "allowed", by: "ann", note: "checked" } }],
  });
  await one.runtime.execution("e1").resume();
  expect(await viewExecution(one.journal, "e1")).toMatchObject({ state: "ended", calls: [{ state: "value" }] });
});

test("a view and a person are told what the handler gets, and what was sent if a schema has converted it", async () => {
  const journal = createMemoryJournal();
  const inputSchema = z.object({ to: z.string().trim() });
  const pay = makeTool({ name: "pay", inputSchema, effect: "write", approval: "always", execute: ({ to }) => to });
  const options = { tools: [pay], journal, sandbox: createMemorySandbox(), approve: () => "later" as const };
  await using runtime = await createRuntime(options);
  const { execution } = await runtime.execute(`return tools.pay({ to: " eve" });`);
  const both = { input: { text: '{"to":"eve"}' }, rawInput: { text: '{"to":" eve"}' } };
  expect(await viewExecution(journal, execution)).toMatchObject({ calls: [both], waiting: [both] });
  expect(await wholeCall(journal, execution, "1")).toMatchObject({ input: '{"to":"eve"}', rawInput: '{"to":" eve"}' });
  expect(await showText(journal, execution)).toContain('pay with {"to":"eve"} (sent as {"to":" eve"}) waits');
  await runtime.execution(execution).resume({ decisions: { "1": { allow: true } } });
  expect(await viewExecution(journal, execution)).toMatchObject({ calls: [{ ...both, result: { text: '"eve"' } }] });
});

test("a conversation's view has its turns with direct calls and programs, and what its programs wait for", async () => {
  await using one = await open();
  const model = scriptedModel([
    { calls: [{ tool: "shop.rows", input: { n: 2 } }] },
    { programs: ["return tools.pay({ n: 1 });"] },
    () => ({ text: "done" }),
  ]);
  const { execution } = await one.runtime.agent({ model, task: "Pay.", programs: "local" });
  const view = (await viewExecution(one.journal, execution)) as ConversationView;
  expect(view).toMatchObject({ kind: "conversation", state: "waiting", task: "Pay." });
  expect(view.turns).toHaveLength(2);
  expect(view.calls).toMatchObject([{ tool: "shop.rows", state: "value", bytes: 19 }]);
  const [program] = view.turns[1]?.programs ?? [];
  expect(program).toMatchObject({ title: "pay", calls: 0, source: { text: "return tools.pay({ n: 1 });" } });
  expect(view.turns.map(({ at }) => at)).toEqual(view.turns.map(() => expect.closeTo(Date.now(), -5)));
  const [waiting] = view.waiting;
  expect(waiting).toMatchObject({ id: `${program?.id}/1`, tool: "pay", effect: "write", input: { text: '{"n":1}' } });
  expect(await wholeCall(one.journal, execution, waiting?.id ?? "")).toMatchObject({ tool: "pay", input: '{"n":1}' });
  const below = await viewExecution(one.journal, program?.execution ?? "");
  expect(below).toMatchObject({ parent: { execution }, state: "waiting" });
  await one.runtime.execution(execution).decide({ [waiting?.id ?? ""]: { allow: true } });
  await one.runtime.execution(execution).resume({ model });
  const { executions } = await listed(one.journal, { state: "ended" });
  expect(Object.fromEntries(executions.map(({ kind, parent }) => [kind, parent]))).toEqual({
    conversation: undefined,
    program: execution,
  });
});

test("what was said in a conversation is whole up to 16 Ki characters, and its programs tell their calls and bytes", async () => {
  await using one = await open();
  const long = "a".repeat(16 * 1024);
  const program = "// Two lists\nawait tools.shop.rows({ n: 1 }); return (await tools.shop.rows({ n: 2 })).length;";
  const model = scriptedModel([{ text: `${long}b`, programs: [program] }, () => ({ text: long })]);
  const { execution } = await one.runtime.agent({ model, task: "Count.", programs: "local" });
  const view = (await viewExecution(one.journal, execution)) as ConversationView;
  expect(view.turns.map(({ text }) => text)).toEqual([
    { text: long, bytes: long.length + 1, cut: true },
    { text: long, bytes: long.length },
  ]);
  const [{ execution: child = "" } = {}] = view.turns[0]?.programs ?? [];
  const below = await viewExecution(one.journal, child);
  expect(view.turns[0]?.programs).toMatchObject([
    { title: "Two lists", calls: 2, fetched: below.funnel.fetched.bytes, result: { text: "2" } },
  ]);
});

test("one call of a host has a view too, whose output is a beginning like all texts", async () => {
  await using one = await open();
  await one.runtime.call({ tool: "shop.rows", input: { n: 500 }, caller: "direct" });
  const execution = (await listed(one.journal)).executions[0]?.execution ?? "";
  const view = await viewExecution(one.journal, execution);
  expect(view).toMatchObject({ kind: "call", state: "ended", calls: [{ tool: "shop.rows" }] });
  expect(view.output).toEqual(view.calls[0]?.result);
  expect(view.output).toMatchObject({ bytes: view.calls[0]?.bytes, cut: true });
  expect(JSON.parse((await wholeCall(one.journal, execution, "1")).result ?? "")).toHaveLength(500);
});

testOfAll("of very many calls the first are listed and the others counted, and each can be read whole", async () => {
  const journal = createMemoryJournal();
  await journal.create(header("many", { limits: {} }));
  const calls = Array.from({ length: 50_002 }, (_, n) => `{"kind":"call","id":${n + 1},"tool":"t"}\n{"n":${n}}`);
  const start = `{"kind":"start","protocol":1,"now":1,"seed":"${"0".repeat(32)}","limits":{"calls":1,"logBytes":1,"printedBytes":1,"frameBytes":1}}\n{}`;
  await journal.append("many", 1, [turn(start, ...calls)]);
  const view = await viewExecution(journal, "many");
  expect(view.calls).toHaveLength(50_000);
  expect(view).toMatchObject({ callsLeft: 2, state: "running" });
  expect(await wholeCall(journal, "many", "50002")).toMatchObject({ input: '{"n":50001}' });
});

/** The pages of a list, which together have all executions once. */
async function pagesOf(journal: Journal, count: number, filter: ListFilter = {}, onPage = () => {}) {
  const pages: ListView["executions"][] = [];
  for (let before: number | undefined = Infinity; before !== undefined;) {
    const page = await listed(journal, { limit: 100, ...filter, before: before === Infinity ? undefined : before });
    onPage();
    pages.push(page.executions);
    before = page.next;
  }
  const seen = pages.flat().map(({ execution }) => execution);
  expect([seen.length, new Set(seen).size]).toEqual([count, count]);
  return pages;
}

test("a list looks through a bounded length of programs, and its next page goes on behind it", async () => {
  const journal = createMemoryJournal();
  const source = `return 1; // ${"x".repeat(2_000_000)}`;
  for (let n = 0; n < 30; n += 1) await journal.create(header(`e${n}`, { source, startedAt: 1_700_000_000_000 + n }));
  expect(Math.max(...(await pagesOf(journal, 30)).map(({ length }) => length))).toBeLessThan(25);
});

test("a row names a hundred tools, and is found by any of them; a sentence about very many is cut", async () => {
  const journal = createMemoryJournal();
  const many = Array.from({ length: 5000 }, (_, n) => ({ name: `shop.tool_${n}`, digest: "ab" }));
  const source = many.map(({ name }) => `tools.${name}();`).join("\n");
  await journal.create(header("many", { tools: many, source }));
  await journal.append("many", 1, [{ type: "violation", detail: "x".repeat(100_000), at: 1 }]);
  const [row] = (await listed(journal, { tool: "tool_4999" })).executions;
  expect(row?.tools).toHaveLength(100);
  const { events } = await viewExecution(journal, "many");
  expect(events[0]?.text.length).toBeLessThan(2200);
  expect(events[0]?.text).toContain("bytes left out");
});

/** A journal that counts the characters which are read of it. */
function counting(journal: Journal) {
  const read = { characters: 0 };
  const counted: Journal = {
    ...journal,
    create: (...given) => journal.create(...given),
    append: (...given) => journal.append(...given),
    find: (execution) => journal.find(execution),
    list: (options) => journal.list(options),
    renew: (...given) => journal.renew(...given),
    async *read(execution, options) {
      for await (const record of journal.read(execution, options)) {
        read.characters += JSON.stringify(record).length;
        yield record;
      }
    },
  };
  return { counted, read };
}

const LARGE: readonly (readonly [name: string, megabytes: readonly number[], count: number])[] = ALL_TESTS
  ? [
      ["one large turn", [120], 1],
      ["many turns", Array.from({ length: 120 }, () => 1), 1],
      ["turns of a few executions", [8, 8], 6],
    ]
  : [["a large turn and some more", [40, 1, 1], 1]];

test.each(LARGE)(
  "a list reads no more than it may where open executions have %s, and says which it has not read",
  { timeout: 120_000 },
  async (_, turns, count) => {
    const folder = memoryFolder("portcullis-list-");
    using cleanUp = new DisposableStack();
    cleanUp.defer(() => rmSync(folder, { recursive: true }));
    const store = cleanUp.use(createSqliteJournal({ path: join(folder, "journal.db") }));
    const { counted, read } = counting(store);
    const most = 32 * 1024 * 1024;
    const start = `{"kind":"start","protocol":1,"now":1,"seed":"${"0".repeat(32)}","limits":{"calls":1,"logBytes":1,"printedBytes":1,"frameBytes":1}}\n{}`;
    let id = 0;
    const text = "x".repeat(500_000);
    for (let n = 0; n < count; n += 1) {
      let head = await store.create(header(`e${n}`, { startedAt: 1_700_000_000_000 + n }));
      for (const [index, megabytes] of turns.entries()) {
        const commands = Array.from({ length: 2 * megabytes }, () => {
          id += 1;
          return `{"kind":"call","id":${id},"tool":"t"}\n${JSON.stringify(text + id)}`;
        });
        const event = index === 0 ? start : '{"kind":"fire","id":1,"now":1}';
        head = await store.append(`e${n}`, head, [turn(event, ...commands)]);
      }
    }
    const pages = await pagesOf(counted, count, { state: "running" }, () => {
      expect(read.characters).toBeLessThanOrEqual(most);
      read.characters = 0;
    });
    const states = pages.flat().map(({ state }) => state);
    expect(states).toEqual(Array.from({ length: count }, () => (count === 1 ? "unread" : "running")));
  },
);

testOfAll("view and list of a program with a large stream are the same, whether or not items are read", async () => {
  const folder = memoryFolder("portcullis-streams-");
  using cleanUp = new DisposableStack();
  cleanUp.defer(() => rmSync(folder, { recursive: true }));
  const journal = cleanUp.use(createSqliteJournal({ path: join(folder, "journal.db") }));
  const rows = makeTool({
    name: "rows",
    stream: true,
    async *execute() {
      for (let id = 0; id < 1500; id += 1) yield { id, text: "é".repeat(1500) };
    },
  });
  await using runtime = await createRuntime({ tools: [rows], journal, sandbox: createMemorySandbox() });
  const { execution } = await runtime.execute(
    "let n = 0; for await (const { id } of tools.rows({})) n += id; return n;",
  );
  const wants: (number | undefined)[] = [];
  const whole = Object.assign(Object.create(journal) as Journal, {
    find: (id: string) => journal.find(id),
    list: (options: Parameters<Journal["list"]>[0]) => journal.list(options),
    read: (...[id, { itemBytes, ...options } = {}]: Parameters<Journal["read"]>) => {
      wants.push(itemBytes);
      return journal.read(id, options);
    },
  });
  expect(await viewExecution(journal, execution)).toEqual(await viewExecution(whole, execution));
  expect((await listed(journal)).executions).toEqual((await listed(whole)).executions);
  expect(wants.some((bytes) => bytes !== undefined)).toBe(true);
});
