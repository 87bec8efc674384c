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

/** A turn of the model, and what its searches find. */
interface Said {
  readonly text: string | undefined;
  readonly calls: readonly ("search_tools" | "f")[];
  readonly found: readonly string[];
}
const said: fc.Arbitrary<Said> = fc.record({
  text: fc.constantFrom(undefined, "", " \n", "I call.", "e\u0301 \u2028"),
  calls: fc.array(fc.constantFrom("search_tools" as const, "f" as const), { maxLength: 3 }),
  found: fc.subarray(["late", "later", "g.h"]),
});

/** The parts of a request in the order in which providers read them. Messages are an array, and what is before them is one text. */
function partsOf(text: string) {
  const body = unmarked(JSON.parse(text)) as Readonly<Record<string, unknown>>;
  const { tools, system, instructions, systemInstruction, messages, input, contents } = body;
  const before = JSON.stringify([tools, system, instructions, systemInstruction]);
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

  test("whatever is found, and whatever the model writes, each request begins as the one before it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(said, { minLength: 2, maxLength: 6 }), async (turns) => {
        const script = turns.map(({ text, calls }, turn): WireTurn => {
          const inputs = calls.map((tool, n) => ({ id: `c${turn}-${n}`, tool, input: tool === "f" ? { k: n } : {} }));
          return { ...(text === undefined ? {} : { text }), calls: inputs };
        });
        const steps = turns.map(({ found }, turn): Step => ({
          ...(turns[turn - 1]?.calls.length ? {} : { say: `Message ${turn}.` }),
          results: (call) => (call.type === "tool_call" && call.tool === "search_tools" ? { found } : {}),
        }));
        const tools = { tools: [SEARCH, declared("f")], deferred: LATE };
        const requests = await run({ instructions: "Work.", hosted: false, ...tools }, script, steps);
        for (const [turn, { before, messages }] of requests.entries()) {
          const earlier = requests[turn - 1];
          const isLater = name === "Anthropic Messages" || name === "OpenAI Responses";
          if (earlier && isLater) expect(before).toBe(earlier.before);
          if (earlier) expect(messages.slice(0, earlier.messages.length)).toEqual(earlier.messages);
        }
      }),
      { numRuns: runs(80) },
    );
  });
});
