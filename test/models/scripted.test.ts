import { expect, test } from "vitest";
import { scriptedModel } from "../../src/models/scripted.ts";
import { OPENING, requested, turnOf } from "./converse.ts";
import { failing } from "../support/failing.ts";

test("a script shows reasoning, words and inputs as a provider does, and tells of retries", async () => {
  const model = scriptedModel([
    {
      reasoning: "I look.",
      text: "I call.",
      calls: [{ tool: "f" }],
      programs: ["return 1;"],
      retries: ["It was busy."],
    },
  ]);
  const conversation = await model.converse({ ...OPENING, settings: { reasoning: { summary: true } } });
  const shown: unknown[] = [];
  await conversation.turn(
    requested({
      onRetry: ({ attempt, reason }) => void shown.push([attempt, reason]),
      onReasoning: (text) => shown.push(text),
      onText: (text) => shown.push(text),
      onArgument: ({ index, tool, text }) => shown.push([index, tool, text]),
    }),
  );
  expect(shown).toEqual([
    [1, "It was busy."],
    "I ",
    "look.",
    "I ",
    "call.",
    [0, "f", "{}"],
    [1, "run_program", "return "],
    [1, "run_program", "1;"],
  ]);
});

test("a step sees the messages, the choice among tools, and the tools that are declared", async () => {
  const model = scriptedModel([
    { text: "1" },
    ({ opening, toolChoice, said, messages }) => ({
      text: JSON.stringify([opening.tools.map(({ name }) => name), toolChoice, said, messages.length]),
    }),
  ]);
  const conversation = await model.converse(OPENING);
  conversation.say("Do it.");
  await conversation.turn(requested());
  conversation.say([
    { type: "text", text: "Look:" },
    { type: "image", mediaType: "image/png", data: "eHg=" },
  ]);
  const { text } = turnOf(await conversation.turn(requested({ toolChoice: "required" })));
  expect(JSON.parse(text)).toEqual([["f", "a.b"], "required", ["Do it.", "Look:\n[image]"], 2]);
});

test("a script's calls against its turn are marked as those of a provider are", async () => {
  const model = scriptedModel([{ calls: [{ tool: "f" }] }, { calls: [{ tool: "f" }, { tool: "f" }] }]);
  const conversation = await model.converse({ ...OPENING, settings: { parallelCalls: false } });
  const first = turnOf(await conversation.turn(requested({ toolChoice: "none" })));
  const second = turnOf(await conversation.turn(requested()));
  expect([...first.calls, ...second.calls].map(({ forbidden }) => forbidden !== undefined)).toEqual([
    true,
    false,
    true,
  ]);
});

test("a script refuses a forced call that no provider could make", async () => {
  const converse = (tool: string) => scriptedModel([]).converse({ ...OPENING, settings: { toolChoice: { tool } } });
  await expect(converse("g")).rejects.toMatchObject(failing("option_invalid", /scripted:script .*"g"/));
});

test("a turn or an option with a field that does not exist is refused, with the name that was meant", async () => {
  const refused = (script: unknown, options?: unknown) => () =>
    scriptedModel(script as Parameters<typeof scriptedModel>[0], options as Parameters<typeof scriptedModel>[1]);
  expect(refused([{ text: "a" }, { txt: "x" }])).toThrow("[1]");
  expect(refused([{ program: "return 1;" }])).toThrow("programs?");
  expect(refused([{ text: 1 }])).toThrow("[0].text");
  expect(refused([null])).toThrow("[0]");
  expect(refused([], { nam: "x" })).toThrow("name?");
  const computed = scriptedModel([() => ({ txt: "x" }) as { text?: string }]);
  const conversation = await computed.converse(OPENING);
  await expect(conversation.turn(requested())).rejects.toThrow('scriptedModel(script)[0]: there is no option "txt"');
});

test("a script forgets the first conversations of many with long texts, and reading them says so", async () => {
  const model = scriptedModel([{ text: "Done." }]);
  for (let index = 0; index < 4; index += 1) {
    const conversation = await model.converse(OPENING);
    conversation.say("x".repeat(4 * 1024 * 1024));
    await conversation.turn(requested({}));
  }
  expect(() => model.conversations[0]).toThrow("are kept no longer");
  expect(model.conversations.at(-1)?.[0]?.said[0]).toHaveLength(4 * 1024 * 1024);
});
