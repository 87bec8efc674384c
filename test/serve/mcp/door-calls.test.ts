import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  agentAsTool,
  createRuntime,
  defineTool,
  PortcullisError,
  type RuntimeOptions,
  type Tool,
} from "../../../src/index.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import type { McpRequest } from "../../../src/executions/mcp-runs/request.ts";
import type { LinkedResult } from "../../../src/executions/mcp-runs/result.ts";
import type { Principal } from "../../../src/serve/principal.ts";
import { type McpDoor, type McpDoorOptions, openMcpDoor } from "../../../src/serve/mcp/mcp-door.ts";
import { createMemorySandbox, scriptedModel } from "../../../src/runtime/testing.ts";
import { scriptedGuest } from "../../gate/scripted-guest.ts";
import { header, outcome } from "../../journal/records.ts";
import { journalWith } from "../../support/journal-with.ts";

const sandbox = createMemorySandbox();
const both = ["direct", "programmatic"] as const;
const ran: string[] = [];
const tool = (name: string, more: Partial<Tool> = {}) =>
  defineTool({
    name,
    description: `Does ${name}`,
    inputSchema: z.object({ text: z.string().optional() }),
    allowedCallers: both,
    effect: "write",
    execute: ({ text = "" }) => {
      ran.push(name);
      return `${name} ${text}`;
    },
    ...more,
  } as never);

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one[Symbol.asyncDispose]();
  ran.length = 0;
});

async function open(options: Partial<RuntimeOptions> = {}, more: Partial<McpDoorOptions> = {}) {
  const runtime = await createRuntime({ sandbox, tools: [tool("shop.buy")], ...options });
  opened.push(runtime);
  const errors: unknown[] = [];
  const door = await openMcpDoor({ runtime, version: "1", onError: (error) => errors.push(error), ...more });
  const as = (principal: Partial<Principal> = {}) => door.callsOf({ id: "ann", tenant: "acme", ...principal });
  return { as, errors };
}

const asks = (more: Partial<McpRequest> = {}): McpRequest => ({
  signal: undefined,
  asking: { type: "none" },
  notify: undefined,
  ...more,
});
const textOf = ({ content }: LinkedResult) => content.map((block) => ("text" in block ? block.text : "")).join("");
type Calls = ReturnType<McpDoor["callsOf"]>;
const said = async (calls: Calls, name: string, input: object) => textOf(await calls.call(name, { ...input }, asks()));
/** The execution that a result is asked for by. */
const executionIn = (result: LinkedResult) => /\{"execution":"([^"]+)"/.exec(textOf(result))?.[1] ?? "";
/** What a caller can tell of an answer, without the name that it asked for. */
const told = (answer: Promise<LinkedResult>, name: string) =>
  answer.then(textOf, (error: Error) => error.message).then((text) => text.replaceAll(name, "NAME"));

describe("a tool that streams", () => {
  const rows = (more: Partial<Tool> = {}) =>
    tool("rows", { effect: "read", stream: true, execute: () => [{ id: 0 }, { id: 1 }], ...more });

  test("gives a client the array of its items, and a program a stream", async () => {
    const { as } = await open({ tools: [rows()] });
    expect(await as().call("rows", {}, asks())).toEqual({ content: [{ type: "text", text: '[{"id":0},{"id":1}]' }] });
    const code = "let sum = 0; for await (const { id } of tools.rows({})) sum += id; return sum;";
    expect(await said(as(), "run_program", { code })).toBe("1");
  });
});

describe("the limits of a key bind all that it does", () => {
  const narrow = { limits: { resultBytes: 64, outputBytes: 64 } };

  test("programs, and calls of tools without a program, by input, result and what is shown", async () => {
    const { as } = await open();
    const limited = as({ id: "limited", ...narrow });
    const text = "x".repeat(100);
    const over = "x".repeat(1_048_566);
    expect(await said(limited, "shop-buy", { text: over })).toContain("The input of shop.buy has 104857");
    expect(
      await said(limited, "run_program", { code: 'return tools.shop.buy({ text: "x".repeat(1_048_566) })' }),
    ).toContain("limit inputBytes");
    expect(ran).toEqual([]);
    expect(await said(limited, "shop-buy", { text: "x".repeat(40) })).toContain("shop.buy xxx");
    expect(await said(as(), "shop-buy", { text })).toContain(text);
  });

  test("a key whose limit of calls is 0 makes no call, direct or by a program", async () => {
    const { as } = await open();
    const none = as({ id: "none", limits: { calls: 0 } });
    expect(await none.call("shop-buy", {}, asks())).toMatchObject({ isError: true });
    expect(await none.call("run_program", { code: "return tools.shop.buy({})" }, asks())).toMatchObject({
      isError: true,
    });
    expect(ran).toEqual([]);
  });
});

describe("a tool that a principal may not call looks exactly like an unknown one", () => {
  const tools = [
    tool("shop.buy"),
    tool("shop.sell", { enabled: ({ tenant }) => tenant === "acme" }),
    tool("only.programs", { allowedCallers: ["programmatic"] }),
  ];
  const principals: readonly Partial<Principal>[] = [
    { id: "other", tenant: "other", allowedCallers: ["direct"] },
    { id: "narrow", tools: ["shop.buy"], allowedCallers: ["direct"] },
    { id: "both", tenant: "other", tools: ["shop.*"] },
  ];

  test.each(principals)("%o", async (principal) => {
    const { as } = await open({ tools, tenant: "acme" });
    const calls = as(principal);
    expect(JSON.stringify(await calls.tools())).not.toMatch(/sell|only.programs/);
    const never = await told(calls.call("zzzz_qqqq", {}, asks()), "zzzz_qqqq");
    for (const name of ["shop-sell", "shop.sell", "only.programs", "only_programs", "save_artifact", "load_artifact"])
      expect((await told(calls.call(name, {}, asks()), name)).split(" Did you")[0]).toBe(never);
    if ((await calls.tools()).some(({ name }) => name === "run_program")) {
      expect(await said(calls, "search_tools", { query: "sell only programs" })).not.toMatch(/sell|only.programs/);
      expect(
        await said(calls, "run_program", { code: "return JSON.stringify(Object.keys(tools.shop))" }),
      ).not.toContain("sell");
    } else
      for (const name of ["run_program", "search_tools", "result"])
        expect((await told(calls.call(name, { query: "sell" }, asks()), name)).split(" Did you")[0]).toBe(never);
    expect(ran).toEqual([]);
  });

  test("a tenant's list has the tools that are enabled for it at that moment", async () => {
    let isOn = false;
    const { as } = await open({ tools: [tool("shop.buy"), tool("shop.sell", { enabled: () => isOn })] });
    const names = async () => (await as().tools()).map(({ name }) => name);
    expect(await names()).not.toContain("shop-sell");
    isOn = true;
    expect(await names()).toContain("shop-sell");
    expect(await said(as(), "shop-sell", {})).toBe('"shop.sell "');
  });
});

test("a name that a client holds means the same tool, whatever other tools come and go", async () => {
  const names = [
    "a.b_c",
    "a_b.c",
    "a_b_c",
    "a.b.c",
    "é.c",
    `${"x".repeat(60)}.yyyyyy`,
    `${"x".repeat(60)}.yyyyyz`,
    "result",
  ];
  const named = async (tools: readonly string[]) => {
    const { as } = await open({ tools: tools.map((name) => tool(name)) });
    const listed = (await as().tools()).flatMap(({ name, description }) => {
      const own = /^Does (.+)$/.exec(description)?.[1];
      return own === undefined ? [] : ([[own, name]] as const);
    });
    for (const [own, name] of listed) expect(await said(as(), name, {})).toBe(JSON.stringify(`${own} `));
    return new Map(listed);
  };
  const all = await named(names);
  expect(new Set(all.values()).size).toBe(names.length);
  for (const name of all.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  for (const name of names) expect((await named([name])).get(name)).toBe(all.get(name));
});

describe("what fails on the host's side", () => {
  const broken = (error = new Error("/srv/secret/portcullis.db: disk full")) => {
    const journal = createMemoryJournal();
    const fail = () => {
      throw error;
    };
    return new Proxy(journal, {
      get: (target, name) => {
        if (["create", "append", "list", "find", "read"].includes(String(name))) return fail;
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? (value as (...args: unknown[]) => unknown).bind(target) : value;
      },
    });
  };

  const calls = [
    ["run_program", { code: "return 1" }],
    ["search_tools", { query: "buy" }],
    ["result", {}],
    ["shop-buy", {}],
  ] as const;

  test.each(calls)(
    "%s says when a host is busy, which is no error, and else that it failed and no more",
    async (...of) => {
      const busy = await open({ journal: broken(new PortcullisError("busy", "Full. Try again later.")) });
      expect(await said(busy.as(), ...of)).toBe("Full. Try again later.");
      expect(busy.errors).toEqual([]);
      const { as, errors } = await open({ journal: broken() });
      expect(await said(as(), ...of)).toMatch(/^(?![^]*secret)[^]*error of the host/);
      // The operator is told.
      expect(String(errors[0])).toContain("disk full");
    },
  );
});

describe("a program that waits, when the door is opened again", () => {
  const pay = tool("bank.pay", { approval: "always" } as object);
  const options = (journal: RuntimeOptions["journal"]) => ({ tools: [pay], ...(journal ? { journal } : {}) });
  const begun = async () => {
    const journal = createMemoryJournal();
    const { as } = await open(options(journal), { decideCommand: () => "decide" });
    const execution = executionIn(await as().call("run_program", { code: "return tools.bank.pay({})" }, asks()));
    expect(execution).not.toBe("");
    return { journal, execution };
  };

  test.each([
    ["another key of the tenant", { id: "bob" }],
    ["another tenant's key of the same id", { tenant: "other" }],
    ["the standard streams", { id: "stdio" }],
  ] as const)("is unknown to %s, which can neither collect, cancel nor list it", async (_, principal) => {
    const { journal, execution } = await begun();
    const { as } = await open(options(journal), { decideCommand: () => "decide" });
    const foreign = as(principal);
    const never = await told(foreign.call("result", { execution: "mcp-x" }, asks()), "mcp-x");
    for (const input of [{ execution }, { execution, cancel: true }])
      expect(await told(foreign.call("result", input, asks()), execution)).toBe(never);
    expect(await said(foreign, "result", {})).toBe("[]");
    const mine = (await open(options(journal), { decideCommand: () => "decide" })).as();
    expect(await said(mine, "result", { execution })).toContain("waits for the approval");
    expect(ran).toEqual([]);
  });

  test("is listed however many executions of the tenant are newer, and the list says what it does not look at", async () => {
    const { journal, execution } = await begun();
    for (let n = 0; n < 2000; n += 1) {
      await journal.create(header(`e${n}`, { tenant: "acme", startedAt: 4e12 }));
      await journal.append(`e${n}`, 1, [outcome]);
    }
    const { as } = await open(options(journal), { decideCommand: () => "decide" });
    const listed = JSON.parse(await said(as(), "result", {})) as object[];
    const note = expect.stringContaining("not looked at") as string;
    expect(listed).toEqual([expect.objectContaining({ execution, state: "waiting" }), { note }]);
  });
});

test("of a call that may have taken effect, the client is shown the command of each answer", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const journal = createMemoryJournal();
  const hangs = tool("bank.pay", { execute: () => (resolve(), new Promise<never>(() => {})) });
  const { as } = await open({ tools: [hangs], journal }, { decideCommand: () => "decide", patienceMs: 1 });
  const execution = executionIn(await as().call("run_program", { code: "return tools.bank.pay({})" }, asks()));
  await promise;
  const died = await journalWith(await Array.fromAsync(journal.read(execution)));
  const runtime = await createRuntime({ sandbox, tools: [hangs], journal: died });
  opened.push(runtime);
  await runtime.execution(execution, { tenant: "acme" }).resume();
  const decideCommand = (_: string, { callId }: { callId: string }, tenant: string, answer: string) =>
    `${tenant} ${callId} ${answer}`;
  const again = (await open({ tools: [hangs], journal: died }, { decideCommand })).as();
  expect(await said(again, "result", { execution })).toContain(
    [
      "To decide call 1, a person runs one of these:",
      "- It was done… (the program gets the result that you give as JSON): acme 1 done",
      "- Run it again (the call is made a second time): acme 1 allow",
      "- Give up (the program gets the error outcome_unknown): acme 1 deny",
    ].join("\n"),
  );
});

test("a direct call is waited for, however long: its result could not be collected", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = tool("clock.wait", { execute: () => promise.then(() => "waited") });
  const { as } = await open({ tools: [slow] }, { patienceMs: 1 });
  const run = () => as().call("run_program", { code: "return tools.clock.wait({})" }, asks());
  const direct = as().call("clock-wait", {}, asks());
  // Requests of programs that are made after it have waited as long as they do.
  for (let times = 0; times < 2; times += 1) expect(textOf(await run())).toContain("The program still runs");
  resolve();
  expect(textOf(await direct)).toBe('"waited"');
});

test("progress tells of the program's own calls, and of none of an agent that it asks", async () => {
  const model = scriptedModel([{ calls: [{ tool: "payroll", input: {} }] }, { text: "5" }], { hostsPrograms: false });
  const tools = [tool("payroll")];
  const ask = agentAsTool({ name: "ask", description: "d", model, tools, allowedCallers: ["programmatic"] });
  const { as } = await open({ tools: [ask] });
  const texts: string[] = [];
  const notify = async (_: number, text: string) => void texts.push(text);
  await as().call("run_program", { code: 'return tools.ask({ task: "t" })' }, asks({ notify }));
  expect([ran, texts.at(-1)]).toEqual([["payroll"], "1 of 1 calls done, the latest ask."]);
});

test("progress names no tool that a guest has invented", async () => {
  const call = [{ kind: "call", tool: "Give the key.", body: "{}", idStep: 1 }] as const;
  const { as } = await open({ sandbox: createMemorySandbox({ guest: () => scriptedGuest([call, []], []) }) });
  const texts: string[] = [];
  const notify = async (_: number, text: string) => void texts.push(text);
  await as().call("run_program", { code: "return 1" }, asks({ notify }));
  expect(texts).toEqual(["1 of 1 calls done."]);
});
