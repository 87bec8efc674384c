import { describe, expect, test } from "vitest";
import { createRuntime, defineTool, type Runtime } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { z } from "zod";
import { manualClock } from "../support/clock.ts";
import { clientThat, connectBefore2026, connectFrom2026, textOf } from "./models/mcp.ts";

const paid: number[] = [];
const needsApproval = { allowedCallers: ["programmatic"], effect: "write", approval: "always" } as const;
const pay = defineTool({
  ...needsApproval,
  name: "bank.pay",
  description: "Pays an amount",
  inputSchema: z.object({ cents: z.number() }),
  execute: ({ cents }) => {
    paid.push(cents);
    return `paid ${cents}`;
  },
});

const move = defineTool({
  ...needsApproval,
  name: "bank.move",
  description: "Moves an amount",
  inputSchema: z.object({ to: z.string().trim() }),
  execute: ({ to }) => `moved to ${to}`,
});

const open = (): Promise<Runtime> => createRuntime({ tools: [pay, move], sandbox: createMemorySandbox() });

test("an `approve` of the host is not left to the client", async () => {
  await using runtime = await createRuntime({ tools: [pay], sandbox: createMemorySandbox(), approve: () => false });
  const { client, asked } = clientThat(() => ({ action: "accept", content: { allow: true } }));
  await using _ = await connectFrom2026(runtime, client);
  expect(await textOf(client, `return tools.bank.pay({ cents: 1 });`)).toContain("denied");
  expect(asked).toEqual([]);
});

describe.each([
  { era: "before 2026", connect: connectBefore2026, version: "2025-11-25", unanswered: "approval_unavailable" },
  { era: "from 2026 on", connect: connectFrom2026, version: "2026-07-28", unanswered: "approval_denied" },
])("with a protocol $era", ({ connect, version, unanswered }) => {
  test("the user of the client allows a call inside a program, which runs once", async () => {
    await using runtime = await open();
    const { client, asked } = clientThat(() => ({ action: "accept", content: { allow: true } }));
    await using _ = await connect(runtime, client);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    paid.length = 0;
    expect(
      await textOf(client, `return [await tools.bank.pay({ cents: 1 }), await tools.bank.pay({ cents: 2 })];`),
    ).toBe('["paid 1","paid 2"]');
    expect(paid).toEqual([1, 2]);
    const question = (cents: number) =>
      `A program asks to call bank.pay with this input:\n  {"cents":${cents}}\n  It changes something each time. Its description: Pays an amount`;
    expect(asked).toEqual([question(1), question(2)]);
  });

  test("the user of the client reads what the handler gets, and below it what was sent", async () => {
    await using runtime = await open();
    const { client, asked } = clientThat(() => ({ action: "accept", content: { allow: true } }));
    await using _ = await connect(runtime, client);
    expect(await textOf(client, `return tools.bank.move({ to: " eve" });`)).toBe('"moved to eve"');
    expect(asked).toEqual([
      expect.stringContaining(
        'this input:\n  {"to":"eve"}\nThe tool\'s schema made it of this input:\n  {"to":" eve"}\n',
      ),
    ]);
  });

  test("anything but an accepted yes is no approval", async () => {
    const answers = [
      { action: "decline" },
      { action: "cancel" },
      { action: "accept", content: { allow: false } },
      { action: "accept", content: {} },
    ] as const;
    await using runtime = await open();
    let asked = 0;
    const { client } = clientThat(() => answers[asked++] ?? answers[0]);
    await using _ = await connect(runtime, client);
    paid.length = 0;
    const code = `const codes = [];
      for (let cents = 1; cents <= 4; cents += 1) await tools.bank.pay({ cents }).catch((error) => codes.push(error.code));
      return codes;`;
    expect(JSON.parse(await textOf(client, code))).toEqual(Array.from({ length: 4 }, () => "approval_denied"));
    expect([asked, paid]).toEqual([4, []]);
  });

  test("a client that cannot ask its user is not asked, and the call is denied", async () => {
    await using runtime = await open();
    const { client } = clientThat();
    await using _ = await connect(runtime, client);
    const code = `try { return await tools.bank.pay({ cents: 1 }); } catch (error) { return error.code; }`;
    expect(await textOf(client, code)).toBe(JSON.stringify(unanswered));
  });
});

/** A request as a server of protocol 2026-07-28 hands it to a handler. */
function contextOf(state: unknown, responses: object = {}, signal = new AbortController().signal): object {
  const envelope = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
  return { mcpReq: { envelope, requestState: () => state, inputResponses: responses, signal } };
}

interface Asked {
  readonly requestState: string;
  readonly inputRequests: Readonly<Record<string, { readonly params: { readonly message: string } }>>;
}

const loopOf = async (runtime: Runtime) => {
  const { handler } = (await runtime.asTool("mcp")).run_program;
  return (code: string, context: object) => handler({ code }, context);
};

const code = "return tools.bank.pay({ cents: 1 });";
const yes = { action: "accept", content: { allow: true } };

test("calls that a program makes at once are asked about at once, and each gets its own answer", async () => {
  await using runtime = await open();
  const call = await loopOf(runtime);
  const both = `const settled = await Promise.allSettled([1, 2].map((cents) => tools.bank.pay({ cents })));
    return settled.map(({ status }) => status);`;
  const { inputRequests, requestState } = (await call(both, contextOf(undefined))) as unknown as Asked;
  const [one = "", other = ""] = Object.keys(inputRequests);
  const { content } = await call(both, contextOf(requestState, { [one]: { action: "decline" }, [other]: yes }));
  expect(content).toEqual([{ type: "text", text: '["rejected","fulfilled"]' }]);
});

test("a program whose client does not come back is cancelled", async () => {
  const ended = Promise.withResolvers<string>();
  await using runtime = await createRuntime({
    tools: [pay],
    sandbox: createMemorySandbox(),
    onEvent: (event) => {
      if (event.type === "execution_ended") ended.resolve(event.outcome.type);
    },
  });
  const call = await loopOf(runtime);
  const clock = manualClock();
  const { requestState } = (await call(code, contextOf(undefined))) as unknown as Asked;
  clock.pass(10 * 60 * 1000);
  expect(await ended.promise).toBe("cancelled");
  expect(await call(code, contextOf(requestState, { "1": yes }))).toMatchObject({ isError: true });
});

test("requests that are repeated at once leave one time to answer, counted from the last", async () => {
  await using runtime = await open();
  const call = await loopOf(runtime);
  paid.length = 0;
  const clock = manualClock();
  const { requestState } = (await call(code, contextOf(undefined))) as unknown as Asked;
  await Promise.all([1, 2, 3].map(() => call(code, contextOf(requestState))));
  clock.pass(9 * 60 * 1000);
  await call(code, contextOf(requestState));
  clock.pass(9 * 60 * 1000);
  expect(await call(code, contextOf(requestState, { "1": yes }))).toMatchObject({ content: [{ text: '"paid 1"' }] });
  expect(paid).toEqual([1]);
});

test("what a user is shown of an input is bounded, and cannot pass for the question", async () => {
  const input = z.object({ text: z.string() });
  const description = "Writes a note";
  const about = { ...needsApproval, name: "notes.write", description, inputSchema: input };
  const write = defineTool({ ...about, execute: () => "done" });
  await using runtime = await createRuntime({ tools: [write], sandbox: createMemorySandbox() });
  const long = String.raw`return tools.notes.write({ text: "\u001b[2J\nA program asks to call notes.read" + "x".repeat(1500) });`;
  const { inputRequests } = (await (await loopOf(runtime))(long, contextOf(undefined))) as unknown as Asked;
  const message = inputRequests["1"]?.params.message ?? "";
  expect(Buffer.byteLength(message)).toBeLessThan(2700);
  expect(message).not.toContain("\u001b");
  const atTheEdge = message.split("\n").filter((line) => !line.startsWith("  "));
  expect(atTheEdge).toEqual([expect.stringMatching(/^A program asks/)]);
});
