import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Opening } from "../../src/models/model.ts";
import { unmarked } from "./anthropic/wire.ts";
import { runs } from "../support/all-tests.ts";
import { declared, driveAndRestore, OPENING, type Step } from "./converse.ts";
import { serve, type WireTurn } from "./wire.ts";
import { WIRES } from "./wires.ts";

/* Providers read what two requests have in common from their caches: only if its bytes are the same. */

const CALL = (id: string) => ({ text: "I call.", calls: [{ id, tool: "f", input: { k: 1 } }] });

const SEARCH = { ...declared("search_tools"), inputSchema: { type: "object", properties: {} } };
const LATE = [declared("late"), declared("later"), declared("g.h")];
/** Tools that may be declared in place of others, in the midst of a conversation. Only the search is among all of them. */
const TOOL_SETS = [
  { tools: [SEARCH, declared("f")], deferred: LATE, searchesPrograms: true },
  { tools: [SEARCH, declared("f"), declared("late")], deferred: LATE.slice(1), searchesPrograms: true },
  { tools: [SEARCH], deferred: LATE.slice(0, 1), searchesPrograms: true },
  { tools: [SEARCH, declared("f"), declared("a.b")] },
];

/** A turn of the model, and what comes before it: the tools that are declared then, and what their search finds. */
interface Said {
  readonly text: string | undefined;
  readonly calls: readonly ("search_tools" | "f")[];
  readonly found: readonly string[];
  readonly tools: number | undefined;
}
const said: fc.Arbitrary<Said> = fc.record({
  text: fc.constantFrom(undefined, "", " \n", "I call.", "e\u0301 \u2028"),
  calls: fc.array(fc.constantFrom("search_tools" as const, "f" as const), { maxLength: 3 }),
  found: fc.subarray(["late", "later", "g.h"]),
  tools: fc.option(fc.nat({ max: TOOL_SETS.length - 1 }), { nil: undefined, freq: 3 }),
});

/** The parts of a request in the order in which providers read them. Messages are an array, and what is before them is one text. */
function partsOf(text: string) {
  const body = unmarked(JSON.parse(text)) as Readonly<Record<string, unknown>>;
  const { tools, system, instructions, systemInstruction, system_instruction: own, messages, input, contents } = body;
  const before = JSON.stringify([tools, system, instructions, systemInstruction, own]);
  return {
    before,
    messages: ((messages ?? input ?? contents) as readonly unknown[]).map((one) => JSON.stringify(one)),
  };
}

describe.each(WIRES)("with %s", (name, wire) => {
  const run = async (
    opening: Opening,
    script: Parameters<typeof serve>[1],
    steps: Parameters<typeof driveAndRestore>[3],
  ) => {
    await using served = await serve(wire, script);
    const { sent, again } = await driveAndRestore((fetch) => served.model({ fetch }), fetch, opening, steps);
    expect([served.refusals, again]).toEqual([[], sent]);
    return sent.map(partsOf);
  };

  test("S14: each request begins with the bytes of the request before it, turn by turn, also when it is taken up", async () => {
    const requests = await run(
      { ...OPENING, settings: { reasoning: { effort: "low" }, maxOutputTokens: 88 } },
      [
        CALL("c1"),
        { text: "Hm.", calls: [{ id: "c2", program: "return 1" }] },
        { text: "Four." },
        CALL("c3"),
        { text: "4" },
      ],
      [{ say: "Do it." }, {}, {}, { say: "And that." }, {}],
    );
    expect(requests).toHaveLength(5);
    for (const [place, { before, messages }] of requests.entries()) {
      const earlier = requests[place - 1];
      if (!earlier) continue;
      expect(before).toBe(earlier.before);
      expect(messages.slice(0, earlier.messages.length)).toEqual(earlier.messages);
      expect(messages.length).toBeGreaterThan(earlier.messages.length);
    }
  });

  test("tools that a search finds change the declarations only where the provider cannot load them later", async () => {
    const search = { ...declared("search_tools"), inputSchema: { type: "object", properties: {} } };
    const requests = await run(
      {
        instructions: "Work.",
        tools: [search, declared("f")],
        deferred: [declared("late")],
        searchesPrograms: true,
        hosted: false,
      },
      [{ calls: [{ id: "c1", tool: "search_tools", input: {} }] }, { text: "4" }],
      [{ say: "Do it.", results: () => ({ found: ["late"] }) }, {}],
    ).catch((error: unknown) => error as Error);
    if (requests instanceof Error) throw requests;
    const [first, second] = requests;
    const isLater = name === "Anthropic Messages" || name === "OpenAI Responses";
    expect(first?.before === second?.before).toBe(isLater);
    expect(second?.messages.slice(0, first?.messages.length)).toEqual(first?.messages);
  });

  test("whatever tools come and go, and whatever the model writes, each request begins as the one before it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(said, { minLength: 2, maxLength: 6 }), async (turns) => {
        const script = turns.map(({ text, calls }, turn): WireTurn => {
          const inputs = calls.map((tool, n) => ({ id: `c${turn}-${n}`, tool, input: tool === "f" ? { k: n } : {} }));
          return { ...(text === undefined ? {} : { text }), calls: inputs };
        });
        const steps = turns.map(({ found, tools }, turn): Step => {
          const set = tools === undefined ? undefined : TOOL_SETS[tools];
          return {
            ...(turns[turn - 1]?.calls.length ? {} : { say: `Message ${turn}.` }),
            ...(set && { declare: set }),
            results: (call) => (call.type === "tool_call" && call.tool === "search_tools" ? { found } : {}),
          };
        });
        const [set] = TOOL_SETS;
        await using served = await serve(wire, script, { redeclares: true });
        const opening: Opening = { instructions: "Work.", hosted: false, ...(set as (typeof TOOL_SETS)[0]) };
        const { sent, again } = await driveAndRestore((fetch) => served.model({ fetch }), fetch, opening, steps);
        expect([served.refusals, again]).toEqual([[], sent]);
        const requests = sent.map(partsOf);
        let declares: number | undefined = 0;
        for (const [turn, { before, messages }] of requests.entries()) {
          const earlier = requests[turn - 1];
          const tools = turns[turn]?.tools;
          const isSame: boolean = tools === undefined || tools === declares;
          const isLater = name === "Anthropic Messages" || name === "OpenAI Responses";
          if (earlier && isSame && isLater) expect(before).toBe(earlier.before);
          if (earlier) expect(messages.slice(0, earlier.messages.length)).toEqual(earlier.messages);
          declares = tools ?? declares;
        }
      }),
      { numRuns: runs(80) },
    );
  });
});
