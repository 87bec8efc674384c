import { AsyncLocalStorage } from "node:async_hooks";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  type ApprovalRequest,
  type CallContext,
  createRuntime,
  defineTool,
  type ExecuteOptions,
  type ExecutionEvent,
} from "../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { agentOf, executed, failing, runtimeWith } from "../support/index.ts";

const sandbox = createMemorySandbox();

interface App {
  readonly user: string;
}

test("a context and a tenant reach handlers and the approver of their own execution, and no program", async () => {
  const seen: string[] = [];
  const whoAmI = defineTool({
    name: "who",
    description: "Notes for whom it is called",
    inputSchema: z.object({}),
    allowedCallers: ["programmatic"],
    effect: "read",
    approval: "always",
    execute: (_, { context, tenant }: CallContext<App>) => {
      seen.push(`handler: ${context.user} of ${tenant}`);
      return "done";
    },
  });
  const approve = ({ context, tenant }: ApprovalRequest<App>) =>
    seen.push(`approver: ${context.user} of ${tenant}`) > 0;
  await using runtime = await createRuntime<App>({ tools: [whoAmI], sandbox, approve, tenant: "acme" });
  const program =
    "return [await tools.who({}), typeof context, typeof tenant, Object.keys(globalThis).includes('context')]";
  const [ann, bob] = await Promise.all([
    runtime.execute(program, { context: { user: "ann" } }),
    runtime.execute(program, { context: { user: "bob" }, tenant: "beta" }),
  ]);
  const value = ["done", "undefined", "undefined", false];
  expect([ann.outcome, bob.outcome]).toEqual([
    { type: "completed", value },
    { type: "completed", value },
  ]);
  expect(seen.toSorted()).toEqual([
    "approver: ann of acme",
    "approver: bob of beta",
    "handler: ann of acme",
    "handler: bob of beta",
  ]);
  expect(JSON.stringify(await Array.fromAsync(runtime.journal.read(ann.execution)))).not.toContain("ann");
});

test("a context reaches the tools of a conversation, of its programs and of the agents that it calls", async () => {
  const seen: unknown[] = [];
  const note = makeTool({
    name: "note",
    allowedCallers: ["direct", "programmatic"],
    execute: (_, { context }) => seen.push(context),
  });
  const inner = scriptedModel([{ calls: [{ tool: "note" }] }, { text: "noted" }]);
  const clerk = agentOf("clerk", inner, { tools: [note], allowedCallers: ["direct"], programs: "none" });
  const model = scriptedModel([
    { calls: [{ tool: "note" }, { tool: "clerk", input: { task: "Note." } }] },
    { programs: ["return tools.note({})"] },
    { text: "done" },
  ]);
  await using runtime = await runtimeWith([note, clerk]);
  const context = { user: "ann" };
  await runtime.agent({ model, task: "Do it.", context });
  expect(seen).toEqual([context, context, context]);
});

test("an execution has an approver of its own, in place of the runtime's", async () => {
  const pay = makeTool({ name: "pay", effect: "write", approval: "always" });
  await using runtime = await runtimeWith([pay], { approve: () => false });
  const program = "return await tools.pay({})";
  expect((await runtime.execute(program, { approve: () => true })).outcome).toMatchObject({ type: "completed" });
  expect((await runtime.execute(program)).outcome).toMatchObject({ fault: { code: "approval_denied" } });
});

test("an execution has a listener of its own, besides the runtime's, and hears of no other execution", async () => {
  const all: ExecutionEvent[] = [];
  const own: ExecutionEvent[] = [];
  await using runtime = await runtimeWith([], { onEvent: (event) => all.push(event) });
  const onEvent = (event: ExecutionEvent) => {
    own.push(event);
    throw new Error("a fault of the listener");
  };
  const [{ execution, outcome }] = await Promise.all([
    runtime.execute("return 1", { onEvent }),
    runtime.execute("return 2"),
  ]);
  expect(outcome).toEqual({ type: "completed", value: 1 });
  expect(own.map(({ type }) => type)).toEqual(["execution_started", "execution_ended"]);
  expect(own.every((event) => event.execution === execution)).toBe(true);
  expect(all).toHaveLength(4);
});

const SHOP = ["crm.find", "crm.list", "crmx", "mail.box.send", "mail.read"].map((name) =>
  makeTool({ name, allowedCallers: ["direct", "programmatic"], execute: () => name }),
);

test.each<[readonly string[], readonly string[]]>([
  [["crm.find"], ["crm.find"]],
  [["crm.*"], ["crm.find", "crm.list"]],
  [
    ["mail.*", "mail.read", "crmx"],
    ["crmx", "mail.box.send", "mail.read"],
  ],
  [["mail.box.*"], ["mail.box.send"]],
  [["*"], ["crm.find", "crm.list", "crmx", "mail.box.send", "mail.read"]],
  [[], []],
])("with the tools %j an execution has %j", async (tools, names) => {
  await using runtime = await runtimeWith(SHOP);
  const program = `const names = (at, path) => Object.keys(at).flatMap((key) => {
    const below = names(at[key], path + key + ".");
    return below.length > 0 ? below : [path + key];
  });
  return names(tools, "");`;
  const { outcome, execution } = await runtime.execute(program, { tools });
  expect((outcome as { readonly value: string[] }).value.toSorted()).toEqual(names);
  const [header] = await Array.fromAsync(runtime.journal.read(execution));
  expect(header?.type === "header" && header.tools.map(({ name }) => name).toSorted()).toEqual(names);
  const model = scriptedModel([{ text: "done" }]);
  const { transcript } = await runtime.agent({ model, task: "Do it.", tools });
  expect(transcript.tools.toSorted()).toEqual(names);
});

test("a tool that an execution is not given does not exist for it, in errors and hints neither", async () => {
  const { outcome, output } = await executed(SHOP, "return await tools.crm.list({})", { tools: ["crm.find"] });
  expect(outcome.type).toBe("failed");
  expect(output.text).not.toContain("Did you mean tools.crm.list");
});

test.each<[unknown, string]>([
  [["crm.fnd"], 'execute({ tools }): the runtime has no tool "crm.fnd", did you mean crm.find?'],
  [["cmr.*"], 'execute({ tools }): the runtime has no tool "cmr.*"'],
  [["crm"], 'execute({ tools }): the runtime has no tool "crm"'],
  [["__proto__"], 'execute({ tools }): the runtime has no tool "__proto__".'],
  ["crm.find", 'execute({ tools }): expected an array of names of tools, like "crm.find" or "crm.*", got "crm.find".'],
  [[SHOP[0]], "execute({ tools }): expected an array of names of tools"],
  [[5], "execute({ tools }): expected an array of names of tools"],
])("tools that the runtime does not have are refused by name: %j", async (tools, message) => {
  await using runtime = await runtimeWith(SHOP);
  await expect(runtime.execute("return 1", { tools } as ExecuteOptions)).rejects.toMatchObject(
    failing("option_invalid", message),
  );
});

test("a conversation takes names and tools together", async () => {
  await using runtime = await runtimeWith(SHOP);
  const own = makeTool({ name: "own", allowedCallers: ["direct"] });
  const { transcript } = await runtime.agent({
    model: scriptedModel([{ text: "done" }]),
    task: "Do it.",
    tools: ["crm.*", own],
  });
  expect(transcript.tools).toEqual(["crm.find", "crm.list", "own"]);
  await expect(runtime.agent({ model: scriptedModel([]), task: "Do it.", tools: ["crm.lst"] })).rejects.toThrow(
    'agent({ tools }): the runtime has no tool "crm.lst", did you mean crm.list?',
  );
});

test("in an isolate, a handler, a predicate and an approver are in the async context of execute, also after waiting for others", async () => {
  const storage = new AsyncLocalStorage<string>();
  const seen: (readonly [unknown, unknown])[] = [];
  // One call at a time over all executions: a call starts when one of another execution has ended.
  const narrow = makeTool({
    name: "narrow",
    concurrency: 1,
    execute: async (_, { context }) => {
      await new Promise(setImmediate);
      seen.push([storage.getStore(), context]);
    },
  });
  const asked = makeTool({
    name: "asked",
    approval: () => {
      seen.push([storage.getStore(), storage.getStore() ?? "nothing"]);
      return true;
    },
    execute: (_, { context }) => seen.push([storage.getStore(), context]),
  });
  const approve = ({ context }: ApprovalRequest) => seen.push([storage.getStore(), context]) > 0;
  await using runtime = await createRuntime({ tools: [narrow, asked], approve });
  const program = `await Promise.all(Array.from({ length: 20 }, () => tools.narrow({})));
    await tools.asked({});
    return 1;`;
  const users = ["ann", "bob", "cem"];
  const outcomes = await Promise.all(
    users.map((user) => storage.run(user, () => runtime.execute(program, { context: user }))),
  );
  expect(outcomes.map(({ outcome }) => outcome.type)).toEqual(users.map(() => "completed"));
  expect(seen).toHaveLength(3 * 23);
  expect(seen.filter(([stored, given]) => stored !== given)).toEqual([]);
});
