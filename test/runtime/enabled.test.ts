import { inspect } from "node:util";
import { expect, test, vi } from "vitest";
import { type RedactRequest, type Tool } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { agentOf, executed, failing, runtimeWith } from "../support/index.ts";

type Enabled = NonNullable<Tool["enabled"]>;

const both = ["direct", "programmatic"] as const;
const always = makeTool({ name: "always", allowedCallers: both });
const beta = (enabled: Enabled) => makeTool({ name: "beta.search", allowedCallers: both, enabled });

const TRY = `
  const names = Object.keys(tools);
  return [names, names.includes("beta") ? await tools.beta.search({}) : "none"];
`;

test("a tool that is not enabled does not exist: not for programs, calls, searches, stubs and loops", async () => {
  const tools = [always, beta(() => false)];
  await using runtime = await runtimeWith(tools);
  const { outcome, execution } = await runtime.execute(TRY);
  expect(outcome).toEqual({ type: "completed", value: [["always"], "none"] });
  const [header] = await runtime.execution(execution).records();
  expect(header).toMatchObject({ tools: [{ name: "always" }] });
  const called = await runtime.call({ tool: "beta.search", input: {}, caller: "programmatic" });
  const unknown = await runtime.call({ tool: "beta.sxxrch", input: {}, caller: "programmatic" });
  expect(called).toEqual({ ...unknown, message: 'There is no tool "beta.search".' });
  expect((await runtime.searchTools("beta search")).map(({ name }) => name)).not.toContain("beta.search");
  expect(runtime.declarations()).not.toContain("beta");
  expect(JSON.stringify(await runtime.asTool("anthropic"))).not.toContain("beta");
});

test("it is asked by tenant, model and context, once when an execution begins, and a conversation's programs have its answer", async () => {
  const enabled = vi.fn<Enabled>(({ model, tenant }) => model?.startsWith("anthropic:") === true || tenant === "lab");
  await using runtime = await runtimeWith([always, beta(enabled)], { tenant: "acme" });
  const context = { user: "ann" };
  const value = async (tenant?: string) =>
    (await runtime.execute(TRY, { context, ...(tenant === undefined ? {} : { tenant }) })).outcome;
  expect(await value()).toMatchObject({ value: [["always"], "none"] });
  expect(await value("lab")).toMatchObject({ value: [["always", "beta"], "ok"] });
  expect(enabled.mock.calls).toEqual([
    [{ tenant: "acme", model: undefined, context }],
    [{ tenant: "lab", model: undefined, context }],
  ]);
  for (const [name, there] of [
    ["anthropic:claude", true],
    ["openai:gpt", false],
  ] as const) {
    enabled.mockClear();
    const model = scriptedModel([{ calls: [{ type: "program_call", id: "p", source: TRY }] }, { text: "Done." }], {
      name,
    });
    const { transcript } = await runtime.agent({ model, task: "Do it.", context });
    expect(enabled.mock.calls).toEqual([[{ tenant: "acme", model: name, context }]]);
    expect(transcript.turns[0]?.results[0]?.text).toMatch(there ? /beta/ : /none/);
    expect(JSON.stringify(model.conversations[0]?.[0]?.opening).includes("beta.search")).toBe(there);
  }
});

test("an agent that is a tool has the tools that are enabled for its own model", async () => {
  const enabled = vi.fn<Enabled>(() => false);
  const inner = scriptedModel([{ text: "Done." }], { name: "inner:model" });
  const ask = agentOf("ask", inner, { tools: [always, beta(enabled)], allowedCallers: ["programmatic"] });
  expect((await executed([ask], 'return tools.ask({ task: "Do it." });')).outcome).toMatchObject({ value: "Done." });
  expect(enabled).toHaveBeenCalledExactlyOnceWith({ tenant: "default", model: "inner:model", context: undefined });
});

test.each([
  ["throws", () => explode(), "the flags are down"],
  ["gives a promise", (async () => true) as never, "expected true or false, got a promise"],
  ["gives a word", (() => "yes") as never, 'expected true or false, got "yes"'],
])("where it %s the tool does not exist, and the operator is told once", async (_, enabled: Enabled, why) => {
  const logger = { error: vi.fn() };
  await using runtime = await runtimeWith([always, beta(enabled)], { logger });
  for (let times = 0; times < 3; times += 1)
    expect((await runtime.execute(TRY)).outcome).toMatchObject({ value: [["always"], "none"] });
  expect(logger.error).toHaveBeenCalledOnce();
  const message = `The function \`enabled\` failed: ${why}. The tool beta.search does not exist there.`;
  expect(logger.error.mock.calls[0]).toEqual([
    {
      tool: "beta.search",
      execution: "",
      callId: "",
      code: "not_enabled",
      err: expect.objectContaining({ message }) as Error,
    },
    message,
  ]);
});

test("what `enabled` throws is redacted before the operator is told", async () => {
  const told = Promise.withResolvers<unknown[]>();
  const logger = { error: (...entry: unknown[]) => told.resolve(entry) };
  const enabled = () => {
    throw new Error("no flags for key-4711", { cause: "key-4711" });
  };
  const redact = ({ text }: RedactRequest) => {
    const start = text.indexOf("key-4711");
    return start < 0 ? [] : [{ start, end: start + 8, what: "key" }];
  };
  await executed([always, beta(enabled)], TRY, {}, { logger, redact });
  const entry = inspect(await told.promise, { depth: 9, showHidden: true });
  expect(entry).toContain("no flags for [redacted 8 characters: key]");
  expect(entry).not.toContain("key-4711");
});

function explode(): never {
  throw new Error("the flags are down");
}

test("an execution that is taken up asks anew: a tool that it began with and has lost is named, one that came since is not there", async () => {
  let isOn = true;
  const journal = createMemoryJournal();
  const held = makeTool({ name: "held", approval: "always" });
  const make = () => runtimeWith([always, held, beta(() => isOn)], { journal, approve: () => "later" });
  const program = `await tools.held({}); ${TRY}`;
  const decisions = { "1": { allow: true } };
  {
    await using runtime = await make();
    expect((await runtime.execute(program, { id: "with" })).outcome.type).toBe("waiting");
    isOn = false;
    expect((await runtime.execute(program, { id: "without" })).outcome.type).toBe("waiting");
  }
  await using runtime = await make();
  await expect(runtime.execution("with").resume({ decisions })).rejects.toMatchObject(
    failing("tools_changed", "gone: beta.search"),
  );
  isOn = true;
  expect((await runtime.execution("without").resume({ decisions })).outcome).toMatchObject({
    value: [["always", "held"], "none"],
  });
});
