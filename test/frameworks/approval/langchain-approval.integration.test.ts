import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, type Runtime } from "../../../src/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { makeTool } from "../../gate/open-session.ts";
import { copyOf } from "../../support/journal-with.ts";
import { AT_ONCE, decisionsOf, expectSame, journalOf, openRefunds, THREE } from "./rules.ts";

interface Asked {
  readonly type: string;
  readonly program: string;
  readonly callId: string;
  readonly hold: number;
  readonly tool: string;
  readonly input: unknown;
  readonly question: string;
}

/** What a graph waits for: LangGraph has it in a field of the state. */
const interruptsOf = (state: object) =>
  ((state as Record<string, unknown>)["__interrupt__"] ?? []) as readonly { readonly value: Asked }[];

/** The answer to a question: it names the call. */
const named = ({ program, callId }: Asked, answer: object) => ({ program, callId, ...answer });

const callOf = (name: string, args: object, n: number) => ({ name, args, id: `call-${n}`, type: "tool_call" }) as const;

/**
 * A graph of a model and its tools, with a checkpointer. It is built anew for each step, as another process would. The model
 * makes the calls in one turn.
 */
async function drive(
  toolOf: () => unknown,
  name: string,
  args: object | readonly object[],
  answer: (asked: Asked) => unknown = (asked) => named(asked, { allow: true }),
) {
  const checkpointer = new MemorySaver();
  let requests = 0;
  const model = ({ messages }: typeof MessagesAnnotation.State) => {
    requests += 1;
    const last = messages.at(-1)!;
    const message =
      last.type === "tool"
        ? new AIMessage(last.text)
        : new AIMessage({ content: "", tool_calls: [args].flat().map((one, n) => callOf(name, one, n)) });
    return { messages: [message] };
  };
  const graph = async () =>
    new StateGraph(MessagesAnnotation)
      .addNode("model", model)
      .addNode("tools", new ToolNode([(await toolOf()) as never]))
      .addEdge("__start__", "model")
      .addConditionalEdges("model", ({ messages }) =>
        (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : "__end__",
      )
      .addEdge("tools", "model")
      .compile({ checkpointer });
  const config = { configurable: { thread_id: "thread 1" } };
  const asked: Asked[] = [];
  let state = await (await graph()).invoke({ messages: [new HumanMessage("refund")] }, config);
  for (;;) {
    const [open] = interruptsOf(state);
    if (!open) break;
    asked.push(open.value);
    state = await (await graph()).invoke(new Command({ resume: await answer(open.value) }), config);
  }
  return { requests, asked, text: state.messages.at(-1)?.text ?? "" };
}

const nested = (runtime: Runtime) => async () => {
  const { func, fields } = (await runtime.asTool("langchain", { interrupt })).run_program;
  return tool(func as never, fields);
};

test.each([
  ["one after the other", THREE],
  ["at once", AT_ONCE],
])(
  "three calls that wait %s interrupt the node three times and cost no request to the model; another process goes on",
  async (_, code) => {
    const journal = journalOf();
    const all: Awaited<ReturnType<typeof openRefunds>>[] = [];
    for (let n = 0; n < 4; n += 1) all.push(await openRefunds({ journal, policy: "ask-writes" }));
    let step = 0;
    const { requests, asked, text } = await drive(() => nested(all[step++]!.runtime)(), "run_program", { code });
    expect(requests).toBe(2);
    expect(JSON.parse(text)).toEqual(["paid 1", "paid 2", "paid 3"]);
    // Calls at once are held in any order.
    const inOrder = asked.toSorted((one, other) => Number(one.callId) - Number(other.callId));
    expect(inOrder.map(({ callId, tool: name, input }) => [callId, name, input])).toEqual(
      [1, 2, 3].map((n) => [String(n), "refund", { n }]),
    );
    expect(inOrder[0]).toMatchObject({
      type: "portcullis_approval",
      question: 'A program asks to make one call:\n1. refund, with this input:\n  {"n":1}',
    });
    expect(all.flatMap(({ paid }) => paid).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    expect(new Set(await decisionsOf(all[0]!.runtime))).toEqual(
      new Set([1, 2, 3].map((n) => [String(n), true, "an interrupt of LangGraph"])),
    );
  },
);

test("answers other than { allow: true } deny, and the program reads the note", async () => {
  const { runtime, paid } = await openRefunds({ approval: "always" });
  const answers = [{ allow: true }, { allow: "yes" }, { allow: false, note: "not this one" }];
  const code = THREE.replace("({ code }) => code", "({ message }) => message");
  const { text } = await drive(nested(runtime), "run_program", { code }, (asked) => named(asked, answers.shift()!));
  const seen = JSON.parse(text) as string[];
  expect(paid).toEqual([1]);
  expect(seen[1]).toContain("approval was denied");
  expect(seen[2]).toContain('Reason given: "not this one"');
});

test.each<[boolean, paid: number[], reads: RegExp]>([
  [true, [1], /paid 1/],
  [false, [], /denied/],
])(
  "an interrupt that is answered %s means the same for a call of the model and for one of its program",
  (answer, paid, reads) => {
    const textsOf = async (driven: ReturnType<typeof drive>) => ({ ...(await driven), results: [(await driven).text] });
    const answered = (asked: Asked) => named(asked, { allow: answer });
    return expectSame(
      (runtime, code) => textsOf(drive(nested(runtime), "run_program", { code }, answered)),
      (call) => {
        const fields = { name: "refund", description: "Refunds", schema: z.object({ n: z.number() }) };
        const refund = tool((input) => {
          const isAllowed = interrupt("refund?") === true;
          return call(input, { approve: () => isAllowed });
        }, fields);
        const toolOf = () => refund;
        return textsOf(drive(toolOf, "refund", { n: 1 }, () => answer));
      },
      [paid, 1, reads],
      { approval: "always" },
    );
  },
);

test("where another person decides a call meanwhile, the answer that was given for it counts for no other call", async () => {
  const { runtime, paid } = await openRefunds({ approval: "always" });
  const { text, asked } = await drive(nested(runtime), "run_program", { code: THREE }, async (about) => {
    const { program, callId } = about;
    if (callId !== "1") return named(about, { allow: false });
    await runtime.execution(program).decide({ 1: { allow: false, by: "bob" } });
    return named(about, { allow: true });
  });
  expect(asked.map(({ callId }) => callId)).toEqual(["1", "2", "3"]);
  expect(paid).toEqual([]);
  expect(JSON.parse(text)).toEqual(["approval_denied", "approval_denied", "approval_denied"]);
  expect(await decisionsOf(runtime)).toEqual([
    ["1", false, "bob"],
    ["2", false, "an interrupt of LangGraph"],
    ["3", false, "an interrupt of LangGraph"],
  ]);
});

test("a call whose input is too large to be listed beside another is asked about with it", async () => {
  const stored: number[] = [];
  const store = makeTool({
    name: "store",
    effect: "write",
    allowedCallers: ["programmatic"],
    approval: "always",
    execute: (input) => stored.push((input as { n: number }).n),
  });
  await using runtime = await createRuntime({ tools: [store], sandbox: createMemorySandbox() });
  const code = `await Promise.all([1, 2].map((n) => tools.store({ n, text: "x".repeat(200_000) }).catch(() => {}))); return 1;`;
  const { asked, text } = await drive(nested(runtime), "run_program", { code }, (about) =>
    named(about, { allow: about.callId === "2" }),
  );
  // A busy host holds calls in any order.
  const inputs = Object.fromEntries(asked.map(({ callId, input }) => [callId, input as { text: string } | undefined]));
  expect(inputs).toEqual({
    1: { n: 1, text: "x".repeat(200_000) },
    2: { n: 2, text: "x".repeat(200_000) },
  });
  expect([stored, text]).toEqual([[2], "1"]);
});

const pay = (n: number, first = "") => ({ code: `${first}; return await tools.refund({ n: ${n} });` });
const SLOWLY = "await new Promise((done) => setTimeout(done, 1))";

test.each<[string, object[], number, number[]]>([
  ["two, of which the slow one is denied", [pay(1, SLOWLY), pay(2)], 1, [2]],
  ["two, of which the quick one is denied", [pay(1, SLOWLY), pay(2)], 2, [1]],
  ["three, of which the last asks first and is denied", [pay(1, SLOWLY), pay(2, SLOWLY), pay(3)], 3, [1, 2]],
])(
  "of several programs of one turn an answer counts for the call that was shown: %s",
  async (_, calls, denied, left) => {
    const { runtime, paid } = await openRefunds({ approval: "always" });
    const tools = await nested(runtime)();
    const allowOthers = (about: Asked) => named(about, { allow: (about.input as { n: number }).n !== denied });
    const { asked } = await drive(() => tools, "run_program", calls, allowOthers);
    expect(asked.map(({ input }) => (input as { n: number }).n)).toEqual(calls.map((_, index) => index + 1));
    expect(paid).toEqual(left);
  },
);

test("an answer that names no call, or another one, decides nothing: the call is asked about again, with the reason", async () => {
  const { runtime, paid } = await openRefunds({ approval: "always" });
  const answers = [() => true, () => ({ allow: true }), (about: Asked) => named(about, { allow: true, callId: "2" })];
  const { asked, text } = await drive(nested(runtime), "run_program", pay(1), (about) => {
    expect(paid).toEqual([]);
    return (answers.shift() ?? ((one: Asked) => named(one, { allow: true })))(about);
  });
  expect(asked.map(({ question }) => question.split("\n")[0])).toEqual([
    "A program asks to make one call:",
    ...[1, 2, 3].map(() => expect.stringContaining("Resume with { program, callId, allow }.") as string),
  ]);
  expect([paid, text]).toEqual([[1], '"paid 1"']);
});

test("the answer to another tool of the same turn counts for no call of a program", async () => {
  const { runtime, paid } = await openRefunds({ approval: "always" });
  const asking = tool(async () => String(interrupt({ callId: "calendar" })), {
    name: "calendar",
    description: "Looks into it",
    schema: z.object({}),
  });
  const tool_calls = [callOf("calendar", {}, 0), callOf("run_program", pay(1), 1)];
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", () => ({ messages: [new AIMessage({ content: "", tool_calls })] }))
    .addNode("tools", new ToolNode([asking, await nested(runtime)()] as never[]))
    .addEdge("__start__", "model")
    .addEdge("model", "tools")
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "thread 1" } };
  await graph.invoke({ messages: [new HumanMessage("refund")] }, config);
  for (let n = 0; n < 3; n += 1) await graph.invoke(new Command({ resume: true }), config).catch(() => {});
  expect(paid).toEqual([]);
});

test("the same call with the same id in another run of the graph is a program of its own", async () => {
  const { runtime, paid } = await openRefunds({ approval: "always" });
  const tools = await nested(runtime)();
  for (let n = 1; n <= 2; n += 1) {
    const { asked } = await drive(() => tools, "run_program", pay(1));
    expect([asked.length, paid.length]).toEqual([1, n]);
  }
});

test("an answer that is replayed or sent twice after a death decides the question that it was given to, and not whether the call is made again", async () => {
  const journal = journalOf();
  const answers: unknown[] = [];
  const asked: Asked[] = [];
  /** Runs the node from its beginning, with the answers so far. */
  const node = async (runtime: Runtime) => {
    let next = 0;
    const ask = (value: never) => {
      if (next < answers.length) return answers[next++];
      asked.push(value);
      throw new Error("interrupted");
    };
    const { func } = (await runtime.asTool("langchain", { interrupt: ask })).run_program;
    const pieces = func({ code: "return tools.refund({ n: 1 })" }, { toolCall: { id: "c" } } as never);
    return await Array.fromAsync(pieces as AsyncIterable<unknown>);
  };
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const handler = () => {
    begun.resolve();
    return over.promise;
  };
  const dying = await openRefunds({ journal, approval: "always", execute: handler, leaseMs: 100 });
  await expect(node(dying.runtime)).rejects.toThrow("interrupted");
  answers.push(named(asked[0]!, { allow: true }));
  const last = node(dying.runtime);
  await begun.promise;
  const next = await openRefunds({
    journal: await copyOf(journal, (records) => records),
    approval: "always",
    leaseMs: 100,
  });
  await expect(node(next.runtime)).rejects.toThrow("interrupted");
  expect(asked.map(({ question }) => question.includes("may have been done already"))).toEqual([false, true]);
  answers.push(answers[0]);
  await expect(node(next.runtime)).rejects.toThrow("interrupted");
  expect(asked[2]?.question).toContain("Resume with { program, callId, hold: 2, allow }.");
  expect(next.paid).toEqual([]);
  answers.push({ ...named(asked[2]!, { allow: true }), hold: asked[2]!.hold });
  await node(next.runtime);
  expect(next.paid).toHaveLength(1);
  over.resolve();
  await last;
});
