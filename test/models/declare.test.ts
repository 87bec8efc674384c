import { describe, expect, test } from "vitest";
import type { Opening } from "../../src/models/model.ts";
import { declared, OPENING, requested, resultOf, turnOf } from "./converse.ts";
import { serve, type Wire, type WireStep } from "./wire.ts";
import { WIRES, anthropicWire } from "./wires.ts";

const FOUND = { calls: [{ id: "c1", tool: "search_tools", input: { k: 1 } }] };

/** What is sent once a conversation with one turn is opened anew with other tools, as `setTools` does it. */
async function reopened(wire: Wire, script: readonly WireStep[], [before, after]: readonly [Opening, Opening]) {
  await using served = await serve(wire, script, { redeclares: true });
  const [first, second] = [await served.model({}).converse(before), await served.model({}).converse(after)];
  for (const one of [first, second]) one.say("Do it.");
  const turn = turnOf(await first.turn(requested()));
  second.restore?.(turn, first.opaque);
  second.answer(turn.calls.map(({ id }) => resultOf(id, { found: ["late"] })));
  const { calls } = turnOf(await second.turn(requested()));
  expect(served.refusals).toEqual([]);
  const { text = "" } = served.asked[1] ?? {};
  const tools = JSON.stringify((JSON.parse(text) as { tools?: unknown }).tools ?? []);
  return { calls, sent: text, names: [...tools.matchAll(/"name":"(\w+)"/g)].map(([, name = ""]) => name) };
}

test.each(WIRES)("S12: a conversation with %s goes on with other tools, by their own names", async (_, wire) => {
  const script = [{ calls: [{ tool: "f", input: { k: 1 } }] }, { calls: [{ tool: "g_h", input: { k: 2 } }] }];
  const other = { ...OPENING, tools: [declared("g.h"), declared("g_h")], runProgram: undefined };
  const { calls, names } = await reopened(wire, script, [OPENING, other]);
  expect(calls).toMatchObject([{ type: "tool_call", tool: "g_h" }]);
  expect(names).toEqual([expect.stringMatching(/^g_h_/), "g_h"]);
});

describe("tools that a search has found, and that are gone or not deferred any more", () => {
  const searching = { ...OPENING, tools: [declared("search_tools")], deferred: [declared("late")] };
  test.each([["f"], ["late"], []])("are referred to by no request to Anthropic: %j", async (...tools) => {
    const after = { ...OPENING, runProgram: undefined, tools: tools.map((name) => declared(name)) };
    const { sent, names } = await reopened(anthropicWire, [FOUND, { text: "1" }], [searching, after]);
    expect(names).toEqual(tools);
    expect(sent).not.toMatch(/tool_reference|defer_loading/);
  });
});
