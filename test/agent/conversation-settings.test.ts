import { describe, expect, test } from "vitest";
import { CONVERSATION_SETTINGS, settingsFor } from "../../src/agent/conversation-settings.ts";
import { agentAsTool, createRuntime, defineTool } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "../../src/testing.ts";
import { type Served, serve } from "../models/wire.ts";
import { WIRES } from "../models/wires.ts";
import { z } from "zod";

const sandbox = createMemorySandbox();
const look = defineTool({
  name: "look",
  description: "look",
  input: z.object({}),
  allowedCallers: ["direct"],
  effect: "read",
  handler: () => "seen",
});

describe("a setting by the beginning of a model's name", () => {
  const settings = {
    toolChoice: "auto",
    temperature: { default: 0.1, openai: 0.2, "openai:gpt-5": 0.3 },
    reasoning: { anthropic: { effort: "high" } },
    stop: ["END"],
  } as const;

  test.each<[string, object]>([
    ["openai:gpt-5-mini", { toolChoice: "auto", temperature: 0.3, stop: ["END"] }],
    ["openai:o9", { toolChoice: "auto", temperature: 0.2, stop: ["END"] }],
    ["anthropic:x", { toolChoice: "auto", temperature: 0.1, reasoning: { effort: "high" }, stop: ["END"] }],
    ["default:x", { toolChoice: "auto", temperature: 0.1, stop: ["END"] }],
  ])("is that of the longest beginning, else the default, else none: %s", (model, expected) => {
    expect(settingsFor(settings, model)).toEqual(expected);
  });

  test.each<[keyof typeof CONVERSATION_SETTINGS, unknown, boolean]>([
    ["temperature", { default: 0.5 }, true],
    ["temperature", { default: 3 }, false],
    ["temperature", {}, false],
    ["temperature", { "": 0.5 }, false],
    ["temperature", { default: { default: 0.5 } }, false],
    ["reasoning", { effort: "low" }, true],
    ["reasoning", { effort: { effort: "low" } }, true],
    ["reasoning", { openai: { effort: "huge" } }, false],
    ["stop", { openai: ["a"], default: [] }, false],
    ["stop", [["a"]], false],
    ["maxOutputTokens", { gemini: 1.5 }, false],
    ["toolChoice", { default: "none" }, false],
  ])("%s takes %j: %s", (name, value, isTaken) => {
    expect(CONVERSATION_SETTINGS[name].accepts(value)).toBe(isTaken);
  });

  test("whose beginnings begin no model of the conversation is refused, with the names of both", async () => {
    await using runtime = await createRuntime({ tools: [look], sandbox });
    const model = scriptedModel([{ text: "4" }]);
    const options = { model, task: "Do it.", temperature: { anthorpic: 0.5 } };
    await expect(runtime.agent(options)).rejects.toThrow(
      "agent({ temperature }): none of anthorpic begins the name of a model of this conversation (scripted:script)",
    );
    const fallbacks = [scriptedModel([], { name: "anthorpic:x" })];
    expect((await runtime.agent({ ...options, fallbacks })).answer).toBe("4");
    const about = { name: "a", description: "a", tools: [look], allowedCallers: ["direct"] } as const;
    expect(() => agentAsTool({ ...about, model, stop: { openai: ["x"] } })).toThrow("agentAsTool({ stop })");
  });
});

/** What a request has for each setting, whatever the provider calls it. */
function askedIn({ asked }: Served, request: number) {
  const text = asked[request]?.text ?? "";
  const found = (pattern: RegExp) => pattern.exec(text)?.[1];
  return {
    temperature: found(/"temperature":([\d.]+)/),
    tokens: found(/"(?:max_tokens|max_output_tokens|max_completion_tokens|maxOutputTokens)":(\d+)/),
  };
}

describe.each(WIRES)("with %s", (_, wire) => {
  test("a fallback is asked as its own name says, and so is a conversation that is taken up in another process", async () => {
    await using served = await serve(wire, [{ calls: [{ tool: "look", input: {} }] }, { text: "4" }]);
    const journal = createMemoryJournal();
    const model = scriptedModel([{ failure: { code: "server_failed", message: "down" } }], { name: "scripted:first" });
    const fallback = served.model();
    const settings = {
      temperature: { default: 0.1, [fallback.name.slice(0, -2)]: 0.5, scripted: 1 },
      maxOutputTokens: { [fallback.name]: 777, scripted: 50 },
    };
    const execution = "settings";
    {
      await using runtime = await createRuntime({ tools: [look], sandbox, journal });
      const talk = await runtime.converse({ model, fallbacks: [fallback], execution, programs: "none", ...settings });
      await talk.step("Do it.");
      await talk.leave();
    }
    expect(model.conversations[0]?.[0]?.opening.settings).toMatchObject({ temperature: 1, maxOutputTokens: 50 });
    await using runtime = await createRuntime({ tools: [look], sandbox, journal });
    await using talk = await runtime.converse({ model, fallbacks: [fallback], continue: execution });
    expect((await talk.say()).answer).toBe("4");
    expect([served.refusals, askedIn(served, 0), askedIn(served, 1)]).toEqual([
      [],
      { temperature: "0.5", tokens: "777" },
      { temperature: "0.5", tokens: "777" },
    ]);
  });
});

test("the transcript names the model of each turn, also after a fallback and when it is continued", async () => {
  const first: ScriptedStep[] = [
    { calls: [{ tool: "look" }] },
    { failure: { code: "server_failed", message: "down" } },
  ];
  await using runtime = await createRuntime({ tools: [look], sandbox });
  const second = scriptedModel([{ calls: [{ tool: "look" }] }, { text: "4" }, { text: "5" }], { name: "scripted:b" });
  const { transcript } = await runtime.agent({
    model: scriptedModel(first, { name: "scripted:a" }),
    fallbacks: [second],
    task: "Do it.",
  });
  const modelsOf = (turns: typeof transcript.turns) => turns.map(({ model }) => model);
  expect(modelsOf(transcript.turns)).toEqual(["scripted:a", "scripted:b"]);
  const saved = JSON.parse(JSON.stringify(transcript)) as typeof transcript;
  await using talk = await runtime.converse({ model: second, continue: saved });
  const { transcript: longer } = await talk.say("More.");
  expect(modelsOf(longer.turns)).toEqual(["scripted:a", "scripted:b", "scripted:b"]);
});
