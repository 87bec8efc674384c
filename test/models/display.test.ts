import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anthropic } from "../../src/index.ts";
import type { ArgumentPiece, Opening, TurnReply } from "../../src/models/model.ts";
import { sourceReader } from "../../src/models/turn/turn-display.ts";
import { anthropicWire, pausedTurn } from "./anthropic/wire.ts";
import { declared, firstTurn, HOSTED, OPENING, requested } from "./converse.ts";
import { serve, type Served, type Wire, type WireStep } from "./wire.ts";
import { EACH_WAY, WIRES, chatWire, responsesWire } from "./wires.ts";
import { runs, testOfAll } from "../support/all-tests.ts";
import { anyCharacter } from "../support/any-character.ts";

const SOURCE = 'const a = "ü😀\\n";\nreturn `${a}`;';
const SUMMARIZED = { ...OPENING, settings: { reasoning: { summary: true } } } satisfies Opening;

interface Shown {
  readonly reply: TurnReply;
  readonly words: string;
  readonly reasoning: string;
  readonly pieces: readonly ArgumentPiece[];
  /** Tools and texts of the inputs, by their index. */
  readonly inputs: readonly string[];
  readonly served: Served;
}

/** What is shown of one turn while it comes. */
async function show(wire: Wire, stream: boolean, step: WireStep, opening: Opening = OPENING): Promise<Shown> {
  await using served = await serve(wire, [step]);
  const conversation = await served.model({ stream }).converse(opening);
  conversation.say("Do it.");
  let [words, reasoning] = ["", ""];
  const pieces: ArgumentPiece[] = [];
  const reply = await conversation.turn(
    requested({
      onText: (text) => (words += text),
      onReasoning: (text) => (reasoning += text),
      onArgument: (piece) => pieces.push(piece),
    }),
  );
  const inputs: string[] = [];
  for (const { index, tool, text } of pieces) inputs[index] = (inputs[index] ?? `${tool} `) + text;
  return { reply, words, reasoning, pieces, inputs, served };
}

describe.each(EACH_WAY)("with %s", (_, wire, stream) => {
  const hasSummaries = wire !== chatWire;
  // One place holds the bounds for all of them.
  const ofLimits = stream && wire === anthropicWire ? test : testOfAll;

  test("S6: what the model writes is shown while it writes: its reasoning, its words, inputs, and programs as plain source", async () => {
    const calls = [{ tool: "a_b", input: { k: 1 } }, { program: SOURCE }, { tool: "f", input: { k: 2 } }];
    const reasoning = "I look.\n\nThen I count.";
    const step = { ...(hasSummaries ? { reasoning } : {}), text: "I call.", calls };
    const shown = await show(wire, stream, step, hasSummaries ? SUMMARIZED : OPENING);
    expect(shown.served.refusals).toEqual([]);
    expect(shown.words).toBe("I call.");
    expect(shown.reasoning).toBe(hasSummaries ? reasoning : "");
    expect(shown.inputs).toEqual(['a.b {"k":1}', `run_program ${SOURCE}`, 'f {"k":2}']);
    expect(shown.pieces.every(({ text }) => text.isWellFormed())).toBe(true);
    if (stream && wire === anthropicWire) expect(shown.pieces.length).toBeGreaterThan(5);
  });

  ofLimits("S7: of a flood of input the beginning is shown, and that there is more; the call is whole", async () => {
    const flood = "x".repeat(300_000);
    const shown = await show(wire, stream, {
      calls: [
        { tool: "f", input: { flood } },
        { tool: "f", input: { k: 1 } },
      ],
    });
    const total = shown.pieces.reduce((sum, { text }) => sum + text.length, 0);
    expect(total).toBeLessThan(256 * 1024 + 100);
    expect(shown.pieces.at(-1)?.text.slice(-26)).toContain("… (the rest is not shown)");
    const [first] = shown.reply.type === "turn" ? shown.reply.calls : [];
    expect(first?.type === "tool_call" && first.inputText === JSON.stringify({ flood })).toBe(true);
  });

  ofLimits(
    "S7: inputs of thousands of calls are shown for the first thousand, and then it is said once that the rest is not",
    async () => {
      const calls = Array.from({ length: 1500 }, (_, k) => ({ tool: "f", input: { k } }));
      const shown = await show(wire, stream, { calls });
      expect(shown.inputs).toHaveLength(1001);
      expect(shown.inputs.at(-1)).toContain("not shown");
    },
  );

  test("S7: of a turn that is cut off in the midst of a call no call comes, whatever was shown", async () => {
    const shown = await show(wire, stream, { calls: [{ tool: "f", input: { k: 1 } }], end: "cut_off" });
    expect(shown.reply).toMatchObject({ type: "turn", calls: [], end: { type: "cut_off" } });
    expect(shown.inputs).toEqual(stream ? ['f {"k":1}'] : []);
  });
});

describe.each(WIRES)("with %s", (_, wire) => {
  test("S7: arguments that never end are shown, and are no call", async () => {
    const shown = await show(wire, true, { calls: [{ tool: "f", input: { k: 1 } }], sent: "short" });
    expect(shown.reply).toMatchObject({ type: "failed", failure: { code: "interrupted" } });
    expect(shown.inputs.join()).toContain("f {");
  });
});

describe("hosted programs", () => {
  const program = { type: "program", id: "prog_1", call_id: "call_p", code: SOURCE, fingerprint: "sealed" };
  const call = {
    type: "function_call",
    id: "fc_1",
    call_id: "call_1",
    name: "a_b",
    arguments: '{"k":1}',
    status: "completed",
    caller: { type: "program", caller_id: "call_p" },
  };

  test.each([
    ["Anthropic", anthropicWire, pausedTurn("a_b", { k: 1 }, SOURCE)],
    ["OpenAI", responsesWire, { raw: { output: [program, call] } }],
  ] as const)("S6: the source of a program that %s runs is shown", async (_, wire, step) => {
    for (const stream of [true, false])
      expect((await show(wire, stream, step, HOSTED)).inputs).toEqual([`run_program ${SOURCE}`, 'a.b {"k":1}']);
  });
});

test("a source is read out of JSON in whatever pieces it comes", () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 40 });
  const fields = fc.record({ code: text, after: fc.jsonValue({ maxDepth: 2 }) });
  fc.assert(
    fc.property(
      fields,
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      fc.boolean(),
      (value, cuts, spaced) => {
        const json = JSON.stringify(value, undefined, spaced ? 2 : 0);
        const reader = sourceReader();
        let read = "";
        for (let at = 0, turn = 0; at < json.length; turn += 1) {
          const length = cuts[turn % cuts.length] ?? 1;
          read += reader(json.slice(at, at + length));
          at += length;
        }
        expect(read).toBe(value.code);
      },
    ),
    { numRuns: runs(100) },
  );
});

test.each([
  [true, {}, true],
  [true, { eagerInput: false }, undefined],
  [false, {}, undefined],
])("S6: Anthropic sends inputs as they are written in streamed replies (%j, %j)", async (stream, options, eager) => {
  await using served = await serve(anthropicWire, [{ text: "4" }]);
  const model = anthropic({ model: "claude-test", apiKey: anthropicWire.key, baseUrl: served.url, stream, ...options });
  await firstTurn(model, { ...OPENING, deferred: [declared("late")] });
  const tools = served.asked[0]?.body.tools as readonly Readonly<Record<string, unknown>>[];
  expect([served.refusals, tools.map((tool) => tool.eager_input_streaming)]).toEqual([
    [],
    [eager, eager, eager, eager],
  ]);
  await using other = await serve(anthropicWire, [{ text: "4" }]);
  await firstTurn(other.model({ stream }), HOSTED);
  const declarations = other.asked[0]?.body.tools as typeof tools;
  const isEager = stream || undefined;
  // The model writes no inputs of calls that programs alone make.
  const wanted = [undefined, isEager, undefined];
  expect([other.refusals, declarations.map((tool) => tool.eager_input_streaming)]).toEqual([[], wanted]);
});
