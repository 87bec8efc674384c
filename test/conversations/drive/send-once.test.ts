import { type Tool } from "portcullis";
import { createMemoryJournal, type Journal } from "portcullis/journal";
import { scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { interruptedError } from "../../../src/conversations/drive/interruption.ts";
import { codeOf, endless, makeTool, payTool, runtimeWith, slowTurn, throws } from "../../support/index.ts";
import { changed } from "../talk.ts";

const echo = scriptedModel(
  Array.from({ length: 20 }, () => ({ said }) => ({ text: `heard ${said.at(-1)}` })),
);

async function open(journal: Journal = createMemoryJournal(), tools: readonly Tool[] = []) {
  return runtimeWith(tools, { journal, approve: () => "later" });
}

test("a conversation that no host holds rests between messages, also for another runtime, and keeps what was said", async () => {
  const journal = createMemoryJournal();
  {
    await using runtime = await open(journal);
    const first = await runtime.execution("chat").send("one", { model: echo });
    expect([first.answer, first.usage.turns]).toEqual(["heard one", 1]);
    expect((await runtime.execution("chat").status()).listed).toMatchObject({ state: "waiting", driven: false });
  }
  await using runtime = await open(journal);
  const second = await runtime.execution("chat").send("two", { model: echo });
  expect([second.answer, second.usage.turns]).toEqual(["heard two", 2]);
  expect(second.transcript.turns.map(({ said }) => said?.map(({ message }) => message))).toEqual([["one"], ["two"]]);
  expect((await runtime.execution("chat").status()).conversation).toMatchObject({
    said: 2,
    turns: 2,
    usage: { turns: 2 },
  });
});

test("the same message with the same number is said once, and another message with it is refused", async () => {
  await using runtime = await open();
  let asked = 0;
  const turn = (text: string) => () => ((asked += 1), { text });
  const model = scriptedModel([turn("a"), turn("b")]);
  const say = (message: string, expected: number) =>
    runtime.execution("chat").send(message, { model, expect: expected });
  expect([(await say("one", 0)).answer, (await say("one", 0)).answer]).toEqual(["a", "a"]);
  expect(await codeOf(say("other", 0))).toBe("execution_exists");
  expect([(await say("two", 1)).answer, (await say("two", 1)).answer, (await say("one", 0)).answer]).toEqual([
    "b",
    "b",
    "b",
  ]);
  for (const [message, expected] of [
    ["other", 1],
    ["three", 3],
  ] as const)
    expect(await codeOf(say(message, expected)), message).toBe("conversation_moved");
  expect((await runtime.execution("chat").status()).conversation).toMatchObject({ said: 2, turns: 2 });
  expect(asked).toBe(2);
});

test("another model's conversation, an unknown one and one that has ended take no message", async () => {
  await using runtime = await open();
  await runtime.execution("chat").send("one", { model: echo });
  const other = scriptedModel([], { name: "scripted:other" });
  expect(await codeOf(runtime.execution("chat").send("one", { model: other, expect: 0 }))).toBe("none");
  expect(await codeOf(runtime.execution("chat").send("two", { model: other }))).toBe("option_invalid");
  expect(await codeOf(runtime.execution("none").send("one", { model: echo, expect: 1 }))).toBe("execution_unknown");
  expect(await codeOf(runtime.execution("none").send(undefined, { model: echo }))).toBe("execution_unknown");
  await using talk = await runtime.conversation({ model: echo, id: "chat" });
  await talk[Symbol.asyncDispose]();
  expect(await codeOf(runtime.execution("chat").send("two", { model: echo }))).toBe("conversation_ended");
  expect((await runtime.execution("chat").send("one", { model: echo, expect: 0 })).answer).toBe("heard one");
});

test("while a message is answered, another one is refused, and the same one joins", async () => {
  const { turn, asked, answer } = slowTurn();
  const model = scriptedModel([turn]);
  await using runtime = await open();
  const first = runtime.execution("chat").send("one", { model, expect: 0 });
  await asked;
  const again = runtime.execution("chat").send("one", { model, expect: 0 });
  expect(await codeOf(runtime.execution("chat").send("two", { model }))).toBe("conversation_busy");
  answer();
  expect([(await first).answer, (await again).answer]).toEqual(["slow", "slow"]);
  expect(model.conversations.flat()).toHaveLength(1);
});

test("an interrupted message rests as cancelled, and the next message is answered", async () => {
  await using runtime = await open();
  const interrupt = new AbortController();
  const model = scriptedModel([
    () => {
      interrupt.abort(interruptedError());
      return { text: "too late" };
    },
    ({ said }) => ({ text: said.join(" then ") }),
  ]);
  const { signal } = interrupt;
  expect((await runtime.execution("chat").send("one", { model, signal })).ending).toEqual({ type: "cancelled" });
  expect((await runtime.execution("chat").status()).listed.state).toBe("waiting");
  const next = scriptedModel([({ said }) => ({ text: said.join(" then ") })]);
  expect((await runtime.execution("chat").send("two", { model: next })).answer).toBe("one then two");
});

test("calls that wait are given up for a message, and gone on with without one", async () => {
  const { tool: pay, paid } = payTool();
  const calls = [{ id: "pay-1", tool: "pay", input: { euros: 1 } }];
  const model = scriptedModel([{ calls }, ({ results }) => ({ text: results[0]?.text ?? "" })]);
  await using runtime = await open(createMemoryJournal(), [pay]);
  for (const id of ["left", "decided"])
    expect((await runtime.execution(id).send("pay", { model })).ending.type, id).toBe("waiting");
  expect((await runtime.execution("left").send("never mind", { model })).answer).toContain("given up");
  await runtime.execution("decided").decide({ "pay-1": { allow: true } });
  expect((await runtime.execution("decided").send(undefined, { model })).answer).toContain('"paid":1');
  expect(paid).toHaveLength(1);
});

test("a host that dies before the answer has said the message: `onSaid` tells so, and the same message goes on with it", async () => {
  const journal = createMemoryJournal();
  const asked = endless();
  const silent = scriptedModel([asked.run]);
  const dying = await open(journal);
  const said = Promise.withResolvers<void>();
  const first = dying.execution("chat").send("one", { model: silent, onSaid: () => said.resolve() });
  await Promise.all([said.promise, asked.begun]);
  await dying.suspend();
  expect(await codeOf(first)).toBe("runtime_suspended");
  await using runtime = await open(journal);
  expect((await runtime.execution("chat").status()).listed.state).toBe("running");
  expect((await runtime.execution("chat").send("one", { model: echo, expect: 0 })).answer).toBe("heard one");
  expect((await runtime.execution("chat").status()).conversation).toMatchObject({ said: 1, turns: 1 });
});

test("a message that the model does not take is not said, and the conversation goes on with another one", async () => {
  const refusing = changed(echo, (conversation, { say }) => {
    conversation.say = (message) => {
      if (message === "bad") throw Object.assign(new Error("no"), { code: "option_invalid" });
      say(message);
    };
  });
  await using runtime = await open();
  await runtime.execution("chat").send("one", { model: refusing });
  for (const id of ["chat", "new"]) {
    expect(await codeOf(runtime.execution(id).send("bad", { model: refusing })), id).toBe("option_invalid");
    expect((await runtime.execution(id).status()).listed).toMatchObject({ state: "waiting", driven: false });
    expect((await runtime.execution(id).send("good", { model: refusing })).answer).toBe("heard good");
  }
});

test("a failure of the host leaves the conversation open", async () => {
  const look = makeTool({ name: "look", allowedCallers: ["direct"], execute: () => 1 });
  await using runtime = await open(createMemoryJournal(), [look]);
  const failing = scriptedModel([{ calls: [{ tool: "look", input: {} }] }, { text: "done" }]);
  const broken = throws("broken");
  expect(await codeOf(runtime.execution("chat").send("one", { model: failing, loop: { stopWhen: broken } }))).not.toBe(
    "none",
  );
  expect((await runtime.execution("chat").status()).listed).toMatchObject({ state: "running", driven: false });
  expect((await runtime.execution("chat").send("one", { model: failing, expect: 0 })).answer).toBe("done");
});
