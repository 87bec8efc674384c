import { describe, expect, test } from "vitest";
import type { Model, ModelSettings, Opening, TurnRequest } from "../../src/models/model.ts";
import { declared, driveAndRestore, firstTurn, HOSTED, OPENING, requested, turnOf } from "./converse.ts";
import { serve, type Wire } from "./wire.ts";
import { EACH_WAY, WIRES, anthropicWire, chatWire, geminiWire, responsesWire, rowsOf } from "./wires.ts";
import { codeOf } from "../support/failing.ts";

const ANSWER = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const BARE: Opening = { instructions: "Work.", tools: [], hosted: false };

// ---- the table of the documentation -----------------------------------------------------------------------------

type Sent = Readonly<Record<string, unknown>>;

/** The body of the first request; the error where there is none. */
async function firstBody(model: (fetch: typeof globalThis.fetch) => Model, opening: Opening): Promise<Sent | Error> {
  let body: Sent = {};
  try {
    const conversation = await model(async (_, init) => {
      body = JSON.parse(await new Response(init?.body as string).text()) as Sent;
      return new Response("{}", { status: 418 });
    }).converse(opening);
    conversation.say("Do it.");
    await conversation.turn(requested());
    return body;
  } catch (error) {
    return error as Error;
  }
}

const DEEP = new Set(["generationConfig", "output_config", "reasoning"]);

function placesIn(body: Sent): Map<string, string> {
  return new Map(
    Object.entries(body).flatMap(([name, value]) =>
      DEEP.has(name)
        ? Object.entries(value as object).map(([inner, one]) => [`${name}.${inner}`, JSON.stringify(one)] as const)
        : [[name, JSON.stringify(value)] as const],
    ),
  );
}

/** The fields that one body has and the other has not, or has otherwise. */
function added(before: Sent, after: Sent): readonly string[] {
  const old = placesIn(before);
  return [...placesIn(after)].filter(([place, value]) => old.get(place) !== value).map(([place]) => place);
}

const COLUMNS: readonly (readonly [name: string, wire: Wire, hosted: boolean])[] = [
  ["`anthropic`", anthropicWire, false],
  ["hosted", anthropicWire, true],
  ["`openai`", responsesWire, false],
  ["hosted", responsesWire, true],
  ["`openai-chat`", chatWire, false],
  ["`gemini`", geminiWire, false],
];

const ROWS: readonly (readonly [label: string, settings: ModelSettings, bare?: boolean])[] = [
  ['`toolChoice: "none"`', { toolChoice: "none" }],
  ['`toolChoice: "required"`', { toolChoice: "required" }],
  ["`toolChoice: { tool }`", { toolChoice: { tool: "f" } }],
  ['`toolChoice: { tool: "run_program" }`', { toolChoice: { tool: "run_program" } }],
  ["a forced call with `reasoning`", { toolChoice: "required", reasoning: { effort: "low" } }],
  ["`parallelCalls: false`", { parallelCalls: false }],
  ["`reasoning: { effort }`", { reasoning: { effort: "high" } }],
  ["`reasoning: { summary }`", { reasoning: { summary: true } }],
  ["`temperature`", { temperature: 0.5 }],
  ["`temperature` with `reasoning`", { temperature: 0.5, reasoning: { effort: "low" } }],
  ["`maxOutputTokens`", { maxOutputTokens: 77 }],
  ["`stop`", { stop: ["END"] }],
  ["`answer`, without tools", { answer: ANSWER }, true],
  ["`answer`, beside tools", { answer: ANSWER }],
];

async function cellOf(wire: Wire, hosted: boolean, settings: ModelSettings, bare = false): Promise<string> {
  const opening = bare ? BARE : hosted ? HOSTED : OPENING;
  if (bare && hosted) return "–";
  const model = (fetch: typeof globalThis.fetch) =>
    wire.model({ retries: 0, apiKey: wire.key, baseUrl: undefined as never, fetch });
  const [before, after] = [await firstBody(model, opening), await firstBody(model, { ...opening, settings })];
  if (before instanceof Error) throw before;
  if (after instanceof Error) {
    expect(after).toMatchObject({ code: "option_invalid" });
    expect(after.message).toContain(Object.keys(settings)[0]);
    return "refused";
  }
  const places = added(before, after);
  return places.length === 0 ? "ignored" : places.map((place) => `\`${place}\``).join(", ");
}

test("S1: the table in docs/models.md is what each adapter sends", async () => {
  const lines: string[][] = [];
  for (const [label, settings, bare] of ROWS) {
    const cells = [];
    for (const [, wire, hosted] of COLUMNS) cells.push(await cellOf(wire, hosted, settings, bare));
    lines.push([label, ...cells]);
  }
  const rows = rowsOf("setting");
  expect(rows[0]?.slice(1)).toEqual(COLUMNS.map(([name]) => name));
  expect(rows.slice(2)).toEqual(lines);
});

// ---- what is refused --------------------------------------------------------------------------------------------

describe.each(WIRES)("with %s", (_, wire) => {
  const model = () => wire.model({ apiKey: wire.key, baseUrl: "http://127.0.0.1:9", fetch: () => Promise.reject() });
  const opening = async (settings: object, base = OPENING) => {
    await model().converse({ ...base, settings });
  };

  test.each<[string, object]>([
    ["toolChoice", { toolChoice: "always" }],
    ["toolChoice", { toolChoice: { tool: "absent" } }],
    ["parallelCalls", { parallelCalls: "no" }],
    ["reasoning", { reasoning: { effort: "huge" } }],
    ["temperature", { temperature: Number.NaN }],
    ["temperature", { temperature: -1 }],
    ["maxOutputTokens", { maxOutputTokens: 0 }],
    ["stop", { stop: [] }],
    ["stop", { stop: ["x".repeat(101)] }],
  ])("S2: the setting %s is refused by its name, before any request: %j", async (name, settings) => {
    await expect(opening(settings)).rejects.toThrow(new RegExp(`^${name}: .* does not take it, because .+\\.$`));
  });

  test("S2: fewer output tokens than the provider takes are refused, as a setting and as an option of the model", async () => {
    const most = (maxOutputTokens: number) =>
      wire.model({ apiKey: wire.key, baseUrl: "http://127.0.0.1:9", maxOutputTokens });
    if (!model().name.startsWith("openai:")) return expect(() => most(1)).not.toThrow();
    await expect(opening({ maxOutputTokens: 15 })).rejects.toThrow("because it takes 16 or more");
    expect(() => most(15)).toThrow("openai({ maxOutputTokens }): expected 16 or more");
    expect(() => most(16)).not.toThrow();
  });

  test("S2: a call cannot be forced where there is none to force", async () => {
    await expect(opening({ toolChoice: "required" }, BARE)).rejects.toThrow("has no tool that could be called");
    const forPrograms = { ...OPENING, tools: [declared("p", ["programmatic"])] };
    await expect(opening({ toolChoice: { tool: "p" } }, forPrograms)).rejects.toThrow('only programs may call "p"');
    const conversation = await model().converse(BARE);
    conversation.say("Do it.");
    expect(await codeOf(conversation.turn(requested({ toolChoice: { tool: "f" } })))).toBe("option_invalid");
  });
});

// ---- whole conversations ----------------------------------------------------------------------------------------

describe.each(EACH_WAY)("with %s", (_, wire, stream) => {
  const CALL = { text: "I call.", calls: [{ id: "c1", tool: "f", input: { k: 1 } }] };

  test("S1: choices of each turn are sent as the provider takes them, and a restored conversation sends the same bytes", async () => {
    const settings: ModelSettings = {
      reasoning: { effort: "low" },
      maxOutputTokens: 88,
      answer: ANSWER,
      ...(wire === geminiWire ? {} : { parallelCalls: false }),
      ...(wire === responsesWire ? {} : { stop: ["END"] }),
    };
    await using served = await serve(wire, [CALL, CALL, { text: "4" }]);
    const choices =
      wire === anthropicWire ? (["auto", "auto", "none"] as const) : ([{ tool: "a.b" }, "required", "none"] as const);
    const { sent, again } = await driveAndRestore(
      (fetch) => served.model({ stream, fetch }),
      fetch,
      { ...OPENING, settings },
      choices.map((toolChoice, at) => ({ ...(at === 0 ? { say: "Do it." } : {}), request: { toolChoice } })),
    );
    expect(served.refusals).toEqual([]);
    expect(again).toEqual(sent);
    for (const body of sent) expect(body).toMatch(/[tT]okens":88\b/);
    const tools = sent.map((body) => JSON.stringify((JSON.parse(body) as Sent).tools));
    expect(new Set(tools).size).toBe(1);
  });

  test.each(["run_program", "f", "a.b"])("S3: a call of %s can be forced", async (tool) => {
    await using served = await serve(wire, [{ text: "4" }]);
    expect(await firstTurn(served.model({ stream }), { ...OPENING, settings: { toolChoice: { tool } } })).toMatchObject(
      { type: "turn", text: "4" },
    );
    const { tool_choice: choice, toolConfig } = served.asked[0]?.body ?? {};
    expect(JSON.stringify(choice ?? toolConfig)).toContain(`"${tool.replace(".", "_")}"`);
  });

  test("S5: strict holds calls to the schemas of tools, where the provider can", async () => {
    const openTo = (name: string, k: object) => ({
      ...declared(name),
      inputSchema: { type: "object", properties: { k } },
    });
    const tools = [
      declared("f"),
      openTo("loose", { type: "string", minLength: 1 }),
      openTo("some", { type: "string" }),
    ];
    const isOpenAi = wire === responsesWire || wire === chatWire;
    await using served = await serve(wire, [{ calls: [{ tool: "some", input: isOpenAi ? { k: null } : {} }] }]);
    const { calls } = turnOf(await firstTurn(served.model({ stream, strict: true }), { ...BARE, tools }));
    expect([served.refusals, calls]).toEqual([[], [expect.objectContaining({ tool: "some", inputText: "{}" })]]);
    const { tools: sent, toolConfig } = served.asked[0]?.body ?? {};
    if (wire === geminiWire) expect(toolConfig).toEqual({ functionCallingConfig: { mode: "VALIDATED" } });
    else
      expect((sent as Sent[]).map((one) => ((one.function ?? one) as Sent).strict ?? false)).toEqual([
        true,
        false,
        true,
      ]);
  });

  test("S1: a schema of the answer is taken, with tools and without", async () => {
    for (const base of [BARE, OPENING])
      for (const answer of [
        ANSWER,
        { ...ANSWER, properties: { ...ANSWER.properties, near: { type: "string" } } },
        { type: "array" },
      ]) {
        await using served = await serve(wire, [{ text: '{"city":"Bishkek"}' }]);
        expect(await firstTurn(served.model({ stream }), { ...base, settings: { answer } })).toMatchObject({
          type: "turn",
          text: '{"city":"Bishkek"}',
        });
        expect(served.refusals).toEqual([]);
      }
  });

  const askOnce = async (settings: ModelSettings, request: Partial<TurnRequest>, calls: readonly object[]) => {
    await using served = await serve(wire, [{ calls }]);
    return turnOf(await firstTurn(served.model({ stream }), { ...OPENING, settings }, request)).calls.map(
      ({ forbidden }) => forbidden,
    );
  };

  test("S4: calls that come in spite of toolChoice none are marked: they are not to be made", async () => {
    const calls = [{ tool: "f", input: { k: 1 } }, { program: "return 1" }];
    const marks = await askOnce({}, { toolChoice: "none" }, calls);
    expect(marks).toEqual(Array(2).fill(expect.stringContaining("this turn allowed no calls")));
    expect(await askOnce({ toolChoice: "none" }, {}, calls)).toEqual(marks);
    expect(await askOnce({ toolChoice: "none" }, { toolChoice: "auto" }, calls)).toEqual([undefined, undefined]);
  });

  test.skipIf(wire === geminiWire)(
    "S4: of calls at once that a conversation does not allow, the first is made",
    async () => {
      const calls = [{ tool: "f", input: { k: 1 } }, { program: "return 1" }];
      expect(await askOnce({ parallelCalls: false }, {}, calls)).toEqual([
        undefined,
        expect.stringContaining("one call"),
      ]);
    },
  );
});

test("S3: a hosted program can be forced at OpenAI, and not at Anthropic", async () => {
  const settings: ModelSettings = { toolChoice: { tool: "run_program" } };
  await using served = await serve(responsesWire, [{ text: "4" }]);
  expect(await firstTurn(served.model({}), { ...HOSTED, settings })).toMatchObject({ text: "4" });
  expect(served.asked[0]?.body.tool_choice).toEqual({ type: "programmatic_tool_calling" });
  const model = anthropicWire.model({ apiKey: anthropicWire.key, baseUrl: "http://127.0.0.1:9" });
  await expect(model.converse({ ...HOSTED, settings })).rejects.toThrow("it forces no hosted program");
  const direct = { ...HOSTED, settings: { toolChoice: { tool: "a.b" } } };
  await expect(model.converse(direct)).rejects.toThrow('only programs may call "a.b"');
});
