import { expect, test, vi } from "vitest";
import { createRuntime, fromMcp, type Tool } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { rawServer, READ } from "../sources/mcp/servers.ts";
import { codeOf, throws } from "../support/failing.ts";

const named = (name: string, more: object = {}) => makeTool({ name, execute: () => name, ...more });
const options = (tools: () => readonly Tool[]) => ({ tools, sandbox: createMemorySandbox() });
const KEYS = "return Object.keys(tools).sort()";

test("tools of a function are those that there are when an execution begins, and it keeps them", async () => {
  const held = Promise.withResolvers();
  const begun = Promise.withResolvers();
  const slow = named("slow", {
    execute: async () => {
      begun.resolve(undefined);
      await held.promise;
    },
  });
  let now: readonly Tool[] = [slow, named("old")];
  await using runtime = await createRuntime(options(() => now));
  const running = runtime.execute("await tools.slow({}); return [await tools.old({}), Object.keys(tools).sort()]");
  await begun.promise;
  now = [named("fresh")];
  expect((await runtime.execute(KEYS)).outcome).toMatchObject({ value: ["fresh"] });
  expect(runtime.declarations()).toContain("tools.fresh(");
  expect(await runtime.call({ tool: "old", input: {}, caller: "programmatic" })).toMatchObject({
    code: "tool_unknown",
  });
  expect(await runtime.searchTools("fresh")).toMatchObject([{ name: "fresh" }]);
  held.resolve(undefined);
  expect((await running).outcome).toMatchObject({ value: ["old", ["old", "slow"]] });
});

test("while they are the same they are one set, and a tool that stays keeps its limit of calls at once", async () => {
  let running = 0;
  let most = 0;
  const one = named("one", {
    concurrency: 1,
    execute: async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    },
  });
  let now = [one];
  await using runtime = await createRuntime(options(() => [...now]));
  const first = runtime.tools;
  expect(runtime.tools).toBe(first);
  const executions = [runtime.execute("for (let i = 0; i < 20; i++) await tools.one({})")];
  now = [one, named("two")];
  expect(runtime.tools).not.toBe(first);
  executions.push(runtime.execute("for (let i = 0; i < 20; i++) await tools.one({})"));
  expect((await Promise.all(executions)).map(({ outcome }) => outcome.type)).toEqual(["completed", "completed"]);
  expect(most).toBe(1);
});

test("names of a function that conflict at first are an error", async () => {
  expect(await codeOf(createRuntime(options(() => [named("a"), named("a.b")])))).toBe("tools_conflict");
});

const of = (source: string, name: string) => named(`${source}.${name}`, { source, execute: () => source });
const CALLS_AS_BEFORE = `${KEYS.replace("return", "const keys =")}; return [keys, await tools.crm.notes.add({})]`;

test.each<[string, (add: Tool, find: Tool) => readonly Tool[], number]>([
  ["its namespace", (add, find) => [of("crm", "notes"), find, add], 1],
  ["its namespace, behind it", (add, find) => [find, add, of("crm", "notes")], 1],
  ["its name", (add, find) => [of("crm", "notes.add"), find, add], 1],
  ["a name below it", (add, find) => [of("crm", "notes.add.more"), of("crm", "find.more"), find, add], 2],
  ["its name, as its source changes it", (_, find) => [of("crm", "notes.add"), find, of("crm.notes", "add")], 1],
])(
  "a new tool that takes of another tool %s is left out, the others go on, and the operator is told what to do",
  async (_, change, leftOut) => {
    const logger = { error: vi.fn() };
    const first = [of("crm", "find"), of("crm.notes", "add")] as const;
    let now: readonly Tool[] = first;
    await using runtime = await createRuntime({ ...options(() => now), logger });
    const [find, add] = first;
    now = change(add, find);
    for (let times = 0; times < 2; times += 1)
      expect((await runtime.execute(CALLS_AS_BEFORE)).outcome).toMatchObject({ value: [["crm"], "crm.notes"] });
    expect(runtime.tools.all.map(({ name }) => name).toSorted()).toEqual(["crm.find", "crm.notes.add"]);
    expect(logger.error).toHaveBeenCalledOnce();
    expect(logger.error.mock.calls[0]).toEqual([
      expect.objectContaining({ code: "tools_conflict", tool: expect.stringMatching(/^crm\./) as string }),
      expect.stringMatching(
        new RegExp(`^The tool crm.* is left out: .*rename one. The policy.*${leftOut === 1 ? "names" : "1 more"}\\.$`),
      ),
    ]);
    now = [find, add, of("crm", "other")];
    expect(runtime.tools.all.map(({ name }) => name)).toEqual(["crm.find", "crm.notes.add", "crm.other"]);
  },
);

test("a tool that its source changes in place is not a newcomer, and none is left out", async () => {
  const logger = { error: vi.fn() };
  let now: readonly Tool[] = [named("a"), of("crm", "find")];
  await using runtime = await createRuntime({ ...options(() => now), logger });
  const changed = of("crm", "find");
  now = [named("a"), changed];
  expect(runtime.tools.get("crm.find")).toBe(changed);
  expect(logger.error).not.toHaveBeenCalled();
});

test.each<[string, () => unknown, object]>([
  ["no list", () => Promise.resolve([named("a")]), { code: "option_invalid" }],
  ["an error", throws("not now"), { code: "callback_failed", cause: { message: "not now" } }],
])("of a function that gives %s no execution begins, at first and later", async (_, give, expected) => {
  await expect(createRuntime(options(give as never))).rejects.toMatchObject(expected);
  let now: () => unknown = () => [named("a")];
  await using runtime = await createRuntime(options(() => now() as never));
  now = give;
  await expect(runtime.execute(KEYS)).rejects.toMatchObject(expected);
  now = () => [named("b")];
  expect((await runtime.execute(KEYS)).outcome).toMatchObject({ value: ["b"] });
});

test("a derived runtime takes a function too", async () => {
  let now = [named("a")];
  await using runtime = await createRuntime(options(() => [named("other")]));
  await using derived = runtime.derive({ tools: () => now });
  now = [named("b")];
  expect((await derived.execute(KEYS)).outcome).toMatchObject({ value: ["b"] });
});

test("where an MCP server tells of a change, the next execution has its new tools beside the others", async () => {
  const changed = Promise.withResolvers();
  await using source = await fromMcp({ ...rawServer("changes"), onSourceChange: changed.resolve }, READ);
  const own = named("own");
  await using runtime = await createRuntime(options(() => [own, ...source.tools]));
  const program =
    "const before = Object.keys(tools.raw).sort(); await tools.raw.echo({}); return [before, Object.keys(tools)]";
  expect((await runtime.execute(program)).outcome).toMatchObject({
    value: [
      ["echo", "first"],
      ["own", "raw"],
    ],
  });
  await changed.promise;
  expect((await runtime.execute(program)).outcome).toMatchObject({
    value: [
      ["echo", "second"],
      ["own", "raw"],
    ],
  });
});
