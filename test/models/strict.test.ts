import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { AgentEvent } from "../../src/conversations/event.ts";
import type { Opening } from "../../src/models/model.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { declared } from "./converse.ts";
import { leftAndAnswered } from "./restored.ts";
import { serve } from "./wire.ts";
import { answered, failing, makeTool } from "../support/index.ts";
import { WIRES, anthropicWire, geminiWire } from "./wires.ts";

const LOOSE = { ...declared("loose"), inputSchema: { type: "object", additionalProperties: { type: "string" } } };
const LATER = { ...LOOSE, name: "later" };
const BARE: Opening = { instructions: "Work.", tools: [declared("f")], hosted: false };
const SEARCH = { ...LOOSE, name: "search_tools" };

const tool = (name: string, inputSchema: z.ZodType) => makeTool({ name, inputSchema, allowedCallers: ["direct"] });
const strictTool = tool("f", z.object({ k: z.number() }));
const looseTool = tool("loose", z.record(z.string(), z.string()));

describe.each(WIRES)("with %s", (_, wire) => {
  const model = (strict: boolean | "all") =>
    wire.model({ apiKey: wire.key, baseUrl: "http://127.0.0.1:9", strict, fetch: () => Promise.reject() });
  const looseOf = async (strict: boolean | "all", opening: Opening) =>
    (await model(strict).converse(opening)).notStrict;
  const holdsAll = wire === geminiWire;

  test("S15: the tools that are declared without are named, later ones too, and none without strict", async () => {
    const opening = { ...BARE, tools: [declared("f"), LOOSE, SEARCH], deferred: [LATER] };
    expect(await looseOf(true, opening)).toEqual(holdsAll ? [] : ["loose", "later"]);
    expect([await looseOf(false, opening), await looseOf(true, BARE)]).toEqual([[], []]);
  });

  test('strict: "all" refuses a conversation with such a tool by its name, before any request', async () => {
    await expect(model("all").converse(BARE)).resolves.toBeDefined();
    for (const opening of [
      { ...BARE, tools: [...BARE.tools, LOOSE] },
      { ...BARE, tools: [...BARE.tools, SEARCH], deferred: [LOOSE] },
    ]) {
      const begun = model("all").converse(opening);
      if (holdsAll) await expect(begun).resolves.toBeDefined();
      else
        await expect(begun).rejects.toMatchObject(
          failing("option_invalid", /^strict: "all": .* cannot hold calls to the schemas of loose\. /),
        );
    }
  });

  test.each(["yes", 1, null])("strict cannot be %j", (strict) => {
    expect(() => model(strict as never)).toThrow('({ strict }): expected true, false or "all"');
  });

  test("an event names them when a conversation begins, and again in a process that takes it up", async () => {
    await using served = await serve(wire, [{ calls: [{ tool: "f", input: { k: 1 } }] }, { text: "4" }]);
    const events: AgentEvent[] = [];
    const options = {
      model: served.model({ strict: true }),
      onEvent: (event: AgentEvent) => event.type === "tools_not_strict" && events.push(event),
    };
    const { answer } = await leftAndAnswered([strictTool, looseTool], { ...options, programs: "none" }, options);
    expect(answer).toBe("4");
    const { name } = options.model;
    const told = { type: "tools_not_strict", execution: "one", model: name, tools: ["loose"] };
    expect(events.map(({ type, ...about }) => ({ type, ...about }))).toEqual(
      holdsAll ? [] : [expect.objectContaining(told), expect.objectContaining(told)],
    );
  });
});

test("an event names them for a fallback that takes over", async () => {
  await using served = await serve(anthropicWire, [{ text: "4" }]);
  const events: unknown[] = [];
  await answered([strictTool, looseTool], {
    model: scriptedModel([{ failure: { code: "server_failed", message: "down" } }]),
    fallbacks: [served.model({ strict: true })],
    task: "Do it.",
    onEvent: (event) => event.type === "tools_not_strict" && events.push(event.tools),
  });
  expect(events).toEqual([["loose"]]);
});

test("Anthropic holds twenty tools, and the others are named", async () => {
  const tools = Array.from({ length: 22 }, (_, at) => declared(`t${at}`));
  const model = anthropicWire.model({ apiKey: anthropicWire.key, baseUrl: "http://127.0.0.1:9", strict: true });
  expect((await model.converse({ ...BARE, tools })).notStrict).toEqual(["t20", "t21"]);
});
