import { expect, test } from "vitest";
import { createRuntime, fromMcp, type Tool } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { rawServer, READ } from "../sources/mcp/servers.ts";

const named = (name: string, more: object = {}) => makeTool({ name, handler: () => name, ...more });
const options = (tools: () => readonly Tool[]) => ({ tools, sandbox: createMemorySandbox() });
const KEYS = "return Object.keys(tools).sort()";

test("tools of a function are those that there are when an execution begins, and it keeps them", async () => {
  const held = Promise.withResolvers();
  const begun = Promise.withResolvers();
  const slow = named("slow", {
    handler: async () => {
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
    handler: async () => {
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

test.each<[string, () => unknown, object]>([
  ["names that conflict", () => [named("a"), named("a.b")], { code: "tools_conflict" }],
  ["no list", () => Promise.resolve([named("a")]), { code: "option_invalid" }],
  [
    "an error",
    () => {
      throw new Error("not now");
    },
    { code: "callback_failed", cause: { message: "not now" } },
  ],
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
