import { generateText, isStepCount, type ModelMessage, tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Runtime } from "../../../src/index.ts";
import { settableClock } from "../../support/clock.ts";
import { aiSdkModel } from "../models/ai-sdk.ts";
import { AT_ONCE, decisionsOf, expectSame, journalOf, openRefunds, THREE } from "./rules.ts";

type Answer = (reason: string | undefined, toolName: string) => boolean | { readonly deny: string };

/** Drives a conversation until it answers. Each approval is answered in a request of its own, with tools that are made anew. */
async function converse(
  toolsOf: () => { readonly tools: object; readonly toolApproval?: unknown },
  first: { readonly toolName: string; readonly input: unknown },
  answer: Answer = () => true,
) {
  const { model, results } = aiSdkModel(first.input, first.toolName);
  const messages: ModelMessage[] = [{ role: "user", content: "refund" }];
  const asked: (string | undefined)[] = [];
  for (;;) {
    const { tools, toolApproval } = toolsOf();
    const result = await generateText({
      model,
      messages,
      stopWhen: isStepCount(10),
      ...({ tools, ...(toolApproval === undefined ? {} : { toolApproval }) } as object),
    });
    messages.push(...result.responseMessages);
    const requests = result.content.filter((part) => part.type === "tool-approval-request") as unknown as {
      approvalId: string;
      reason?: string;
      toolCall: { toolName: string };
      isAutomatic?: boolean;
    }[];
    const open = requests.filter(({ isAutomatic }) => isAutomatic !== true);
    if (open.length === 0)
      return { requests: model.doGenerateCalls.length, text: result.text, asked, results, messages };
    messages.push({
      role: "tool",
      content: open.map(({ approvalId, reason, toolCall }) => {
        asked.push(reason);
        const said = answer(reason, toolCall.toolName);
        return {
          type: "tool-approval-response" as const,
          approvalId,
          approved: said === true,
          ...(typeof said === "object" ? { reason: said.deny } : {}),
        };
      }),
    });
  }
}

const nested = async (runtime: Runtime, toolApproval: unknown, code = THREE) => {
  const tools = await runtime.asTool("ai-sdk", { toolApproval: toolApproval as never, conversation: "chat 1" });
  return { tools, of: () => ({ tools }), first: { toolName: "run_program", input: { code } } };
};

test("three calls of a program that need a person one after the other cost two requests to the model more, and the person sees each", async () => {
  const plain = await openRefunds();
  const without = await converse((await nested(plain.runtime, {})).of, {
    toolName: "run_program",
    input: { code: THREE },
  });
  expect(without.requests).toBe(2);
  const { runtime, paid } = await openRefunds();
  const { of, first } = await nested(runtime, { refund: "user-approval" });
  const { requests, text, asked } = await converse(of, first);
  expect(requests - without.requests).toBe(2);
  expect(JSON.parse(text)).toEqual(["paid 1", "paid 2", "paid 3"]);
  expect(paid).toEqual([1, 2, 3]);
  expect(asked).toHaveLength(3);
  expect(await decisionsOf(runtime)).toEqual([1, 2, 3].map((n) => [String(n), true, "the AI SDK's tool approval"]));
});

test("`approval` says as the reason what the person approves: all calls that wait, each with its input", async () => {
  const { runtime, paid } = await openRefunds({ approval: "always" });
  const tools = await runtime.asTool("ai-sdk", { toolApproval: {}, conversation: "chat 1" });
  const { approval } = tools.run_program;
  const { requests, asked } = await converse(
    () => ({ tools, toolApproval: { run_program: approval } }),
    { toolName: "run_program", input: { code: AT_ONCE } },
    () => {
      expect(paid).toEqual([]);
      return true;
    },
  );
  expect(asked).toEqual([
    'A program asks to make 3 calls:\n1. refund, with this input:\n  {"n":1}\n2. refund, with this input:\n  {"n":2}\n3. refund, with this input:\n  {"n":3}',
  ]);
  expect(paid).toEqual([1, 2, 3]);
  expect(requests).toBe(2);
});

test("a request in another process finds the program that waits, and runs nothing twice", async () => {
  const journal = journalOf();
  const paid: number[][] = [];
  const openNew = async () => {
    const one = await openRefunds({ journal });
    paid.push(one.paid);
    return {
      tools: await one.runtime.asTool("ai-sdk", { toolApproval: { refund: "user-approval" }, conversation: "chat 7" }),
    };
  };
  const ready = [await openNew(), await openNew(), await openNew(), await openNew()];
  let request = 0;
  const { text } = await converse(() => ready[request++] ?? ready[0]!, {
    toolName: "run_program",
    input: { code: THREE },
  });
  expect(JSON.parse(text)).toEqual(["paid 1", "paid 2", "paid 3"]);
  expect(paid).toEqual([[], [1], [2], [3]]);
});

test.each(["one process", "two processes"])(
  "the same approval twice at once, in %s, ends both with what happened",
  async (where) => {
    const journal = journalOf();
    // What a process drives it knows by its journal.
    const [one, other] = [await openRefunds({ journal }), await openRefunds({ journal: { ...journal } })];
    const toolsOf = ({ runtime }: typeof one) =>
      runtime.asTool("ai-sdk", { toolApproval: { refund: "user-approval" }, conversation: "chat" });
    const input = { code: "return await tools.refund({ n: 1 })" };
    const { model } = aiSdkModel(input);
    const messages: ModelMessage[] = [{ role: "user", content: "refund" }];
    const first = await generateText({ model, messages, tools: await toolsOf(one) });
    const request = first.content.find((part) => part.type === "tool-approval-request");
    const approvalId = request?.approvalId ?? "";
    const answer = [{ type: "tool-approval-response" as const, approvalId, approved: true }];
    messages.push(...first.responseMessages, { role: "tool", content: answer });
    const texts = [one, where === "one process" ? one : other].map(async (refunds) => {
      const { model: next } = aiSdkModel(input);
      return (await generateText({ model: next, messages, tools: await toolsOf(refunds) })).text;
    });
    expect(await Promise.all(texts)).toEqual(['"paid 1"', '"paid 1"']);
    expect([...one.paid, ...other.paid]).toEqual([1]);
  },
);

test("a denied call ends the program: nothing is paid, the model reads the loop's own words, and the journal has the denial", async () => {
  const { runtime, paid } = await openRefunds();
  const { of, first } = await nested(runtime, { refund: "user-approval" });
  const { results, messages } = await converse(of, first, () => ({ deny: "not today" }));
  expect(results).toEqual(["denied: not today"]);
  expect(paid).toEqual([]);
  // The next call of the conversation brings the denial to the journal.
  await of().tools.run_program.needsApproval!({ code: "return 1" }, { toolCallId: "x", messages });
  expect(await decisionsOf(runtime)).toEqual([["1", false, "the AI SDK's tool approval"]]);
  for await (const { state } of runtime.executions.list()) expect(state).toBe("ended");
});

const ask = ({ toolCall }: { toolCall: { toolName: string } }) =>
  toolCall.toolName === "refund" ? "user-approval" : undefined;
const no = () => ({ deny: "no" });

/** The same rule for the same tool: what the handler has done, how many people were asked, and the reason that was read. */
test.each<[string, unknown, Answer, paid: number[], asked: number, reads: RegExp]>([
  ["not-applicable", { refund: "not-applicable" }, no, [1], 0, /paid 1/],
  ["approved", { refund: "approved" }, no, [1], 0, /paid 1/],
  ["denied with a reason", { refund: { type: "denied", reason: "closed" } }, no, [], 0, /closed/],
  ["user-approval, approved", { refund: "user-approval" }, () => true, [1], 1, /paid 1/],
  ["user-approval, denied", { refund: "user-approval" }, no, [], 1, /denied: no/],
  ["a function of the input", { refund: () => ({ type: "denied", reason: "too much" }) }, no, [], 0, /too much/],
  ["one function for all", ask, () => true, [1], 1, /paid 1/],
])("%s means the same for a call of the model and for one of its program", (_, toolApproval, answer, ...expected) => {
  const ofProgram = async (runtime: Runtime, code: string) => {
    const { of, first } = await nested(runtime, toolApproval, code);
    return converse(of, first, answer);
  };
  return expectSame(
    ofProgram,
    (call) => {
      const refund = tool({ inputSchema: z.object({ n: z.number() }), execute: (input) => call(input) });
      const first = { toolName: "refund", input: { n: 1 } };
      return converse(() => ({ tools: { refund }, toolApproval }), first, answer);
    },
    expected,
  );
});

test("`approved` of toolApproval answers the tool's own rule, in its name; it does not loosen the runtime's policy", async () => {
  const { runtime, paid } = await openRefunds({
    approval: "always",
    policy: ({ input }) => ((input as { n: number }).n === 2 ? { deny: "two" } : "allow"),
  });
  const { of, first } = await nested(runtime, { refund: "approved" });
  const { asked, text } = await converse(of, first);
  expect([asked, paid, JSON.parse(text)]).toEqual([[], [1, 3], ["paid 1", "policy_denied", "paid 3"]]);
  expect(await decisionsOf(runtime)).toEqual([
    ["1", true, "the AI SDK's tool approval, by its rule"],
    ["3", true, "the AI SDK's tool approval, by its rule"],
  ]);
});

const throwing = () => {
  throw new Error("no rules");
};

test.each<[string, unknown]>([
  ["throws", { refund: throwing }],
  ["says nonsense", { refund: "yes" }],
  ["says null", { refund: () => null }],
])("a toolApproval that %s decides nothing: the calls are refused", async (_, toolApproval) => {
  const { runtime, paid } = await openRefunds({ logger: { error: () => {} } });
  const { of, first } = await nested(runtime, toolApproval);
  const { text } = await converse(of, first);
  expect([paid, JSON.parse(text)]).toEqual([[], ["policy_unavailable", "policy_unavailable", "policy_unavailable"]]);
});

test("a program that waits goes on with no other handle, in no other conversation, and not by an approval that no one gave", async () => {
  const { runtime, paid } = await openRefunds();
  const toolApproval = { refund: "user-approval" };
  const mine = await runtime.asTool("ai-sdk", { toolApproval, conversation: "mine" });
  const theirs = await runtime.asTool("ai-sdk", { toolApproval, conversation: "theirs" });
  const options = { toolCallId: "1", messages: [] };
  // A loop whose own rule approves `run_program` runs it without a person.
  const said = await mine.run_program.execute({ code: THREE }, options);
  expect(said).toContain("approve a call of refund");
  const { program } = JSON.parse(/(\{.*?\})/.exec(said)?.[1] ?? "") as { program: string };
  const approved = [
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "2", toolName: "continue_program", input: { program } },
        { type: "tool-approval-request", approvalId: "a", toolCallId: "2" },
      ],
    },
    { role: "tool", content: [{ type: "tool-approval-response", approvalId: "a", approved: true }] },
  ];
  const go = (tools: typeof mine, handle: string, messages: unknown[]) =>
    tools
      .continue_program!.execute({ program: handle }, { toolCallId: "2", messages })
      .then(String, (error: Error) => error.message);
  expect(await go(theirs, program, approved)).toContain("no program with this handle");
  expect(await go(mine, `${program.slice(0, -3)}abc`, approved)).toContain("waits for a person");
  expect(await go(mine, "__proto__", approved)).toContain("no program with this handle");
  expect(await go(mine, program, [])).toContain("waits for a person");
  expect(await go(mine, program, [approved[0]])).toContain("waits for a person");
  expect(paid).toEqual([]);
  expect(await go(mine, program, approved)).toContain("waits for a person");
  expect(paid).toEqual([1]);
});

type Tools = Awaited<ReturnType<typeof nested>>["tools"];

/** A conversation whose provider gives each call the id `call_0`. The AI SDK asks about an approved call once more before it runs it. */
class RepeatedIds {
  messages: object[] = [];
  readonly #input: { readonly code: string };
  #asked = 0;

  constructor(code: string) {
    this.#input = { code };
  }

  /** One turn of the model with one call. Gives its result; undefined if it was denied. */
  async turn(tools: Tools, isApproved = true): Promise<string | undefined> {
    await this.ask(tools);
    return this.answer(tools, isApproved);
  }

  async ask({ run_program }: Tools): Promise<void> {
    const { messages } = this;
    expect(await run_program.needsApproval!(this.#input, { toolCallId: "call_0", messages })).toBe(true);
    const approvalId = `approval ${(this.#asked += 1)}`;
    const part = { toolCallId: "call_0", toolName: "run_program" };
    const asked = { type: "tool-approval-request", approvalId, toolCallId: "call_0" };
    const content = [{ type: "tool-call", ...part, input: this.#input }, asked];
    this.messages = [...messages, { role: "assistant", content }];
  }

  async answer({ run_program }: Tools, approved: boolean): Promise<string | undefined> {
    const response = { type: "tool-approval-response", approvalId: `approval ${this.#asked}`, approved };
    const messages = [...this.messages, { role: "tool", content: [response] }];
    const options = { toolCallId: "call_0", messages };
    if (approved) await run_program.needsApproval!(this.#input, options);
    const output = approved ? await run_program.execute(this.#input, options) : undefined;
    const result = { type: "tool-result", toolCallId: "call_0", toolName: "run_program", output };
    this.messages = [...messages, { role: "tool", content: [result] }];
    return output;
  }
}

const one = "return await tools.refund({ n: 1 });";

test.each<[string, (chat: RepeatedIds) => void]>([
  ["after its whole history", () => {}],
  ["after a history that was shortened", (chat) => (chat.messages = [])],
])("the same call with the same id is a program of its own, which a person is asked about, %s", async (_, shorten) => {
  const { runtime, paid } = await openRefunds({ approval: "always" });
  const chat = new RepeatedIds(one);
  const { tools } = await nested(runtime, {});
  for (let n = 1; n <= 3; n += 1) {
    expect(await chat.turn(tools)).toBe('"paid 1"');
    expect(paid).toHaveLength(n);
    shorten(chat);
  }
  expect(await chat.turn(tools, false)).toBe(undefined);
  // The denial is that of the last call, and reaches no later one.
  expect(await chat.turn(tools)).toBe('"paid 1"');
  expect(paid).toHaveLength(4);
});

test("an approval holds for neither of two calls that one reply gives the same id", async () => {
  const refunds = await openRefunds({ approval: "always" });
  const { run_program } = (await nested(refunds.runtime, {})).tools;
  const inputs = [999, 1].map((n) => ({ code: `return await tools.refund({ n: ${n} });` }));
  const calls = inputs.map((input) => ({ type: "tool-call", toolCallId: "c", toolName: "run_program", input }));
  for (const input of inputs) await run_program.needsApproval!(input, { toolCallId: "c", messages: [] });
  const content = [...calls, { type: "tool-approval-request", approvalId: "a", toolCallId: "c" }];
  const response = { type: "tool-approval-response", approvalId: "a", approved: true };
  const messages = [
    { role: "assistant", content },
    { role: "tool", content: [response] },
  ];
  for (const input of inputs)
    expect(await run_program.execute(input, { toolCallId: "c", messages })).toContain("waits for a person");
  expect(refunds.paid).toEqual([]);
});

test("an approved call that is sent again has the same result, also after its tools were made anew", async () => {
  const { runtime, paid } = await openRefunds({ approval: "always" });
  const chat = new RepeatedIds(one);
  await chat.turn((await nested(runtime, {})).tools);
  await chat.ask((await nested(runtime, {})).tools);
  const { messages } = chat;
  for (let n = 0; n < 2; n += 1) {
    chat.messages = messages;
    expect(await chat.answer((await nested(runtime, {})).tools, true)).toBe('"paid 1"');
  }
  expect(paid).toEqual([1, 1]);
});

test("an approval counts for no program that had to be begun anew, because the one that was shown is gone", async () => {
  const before = await openRefunds({ approval: "always" });
  const after = await openRefunds({ approval: "always" });
  const chat = new RepeatedIds(one);
  await chat.ask((await nested(before.runtime, {})).tools);
  const { messages } = chat;
  for (let n = 0; n < 2; n += 1) {
    chat.messages = messages;
    expect(await chat.answer((await nested(after.runtime, {})).tools, true)).toContain("waits for a person");
  }
  expect([...before.paid, ...after.paid]).toEqual([]);
});

test("an approval that comes after its call has expired counts for no call that followed it", async () => {
  const clock = settableClock();
  const refunds = await openRefunds({ approval: "always", limits: { waitMs: 60_000 } });
  const of = (n: number) => `return await tools.refund({ n: ${n} })`;
  const chat = new RepeatedIds(`try { ${of(5)}; } catch { ${of(500)}; }`);
  await chat.ask((await nested(refunds.runtime, {})).tools);
  clock.jump(61_000);
  expect(await chat.answer((await nested(refunds.runtime, {})).tools, true)).toContain("waits for a person");
  expect(refunds.paid).toEqual([]);
});
