import { describe, expect, test } from "vitest";
import { anthropic } from "../../../src/index.ts";
import type { AnthropicOptions } from "../../../src/models/index.ts";
import { declared, drive, driveAndRestore, HOSTED, OPENING } from "../converse.ts";
import { serve, type Wire } from "../wire.ts";
import { anthropicWire, pausedTurn, unmarked } from "./wire.ts";

function wireWith(options: Partial<AnthropicOptions>): Wire {
  return { ...anthropicWire, model: (given) => anthropic({ model: "claude-test", ...given, ...options }) };
}

const CALL = { text: "I call.", calls: [{ tool: "f", input: { k: 1 } }] };
const SCRIPT = [CALL, CALL, CALL, { text: "4" }];
const STEPS = [{ say: "Do it." }, {}, { say: "And that." }, {}];

type Body = Readonly<Record<"system" | "tools" | "messages", readonly Readonly<Record<string, unknown>>[]>>;

async function bodies(options: Partial<AnthropicOptions>, opening = OPENING): Promise<readonly Body[]> {
  const wire = wireWith(options);
  await using served = await serve(wire, SCRIPT);
  const { sent, again } = await driveAndRestore((fetch) => served.model({ fetch }), fetch, opening, STEPS);
  expect([served.refusals, again]).toEqual([[], sent]);
  return sent.map((text) => JSON.parse(text) as Body);
}

/** Places of marks in a request. */
function marksIn({ system, tools, messages }: Body): readonly string[] {
  const isMarked = (block: unknown) => (block as { readonly cache_control?: unknown }).cache_control !== undefined;
  const places = (name: string, blocks: readonly unknown[]) =>
    blocks.flatMap((block, place) => (isMarked(block) ? [`${name} ${place} of ${blocks.length}`] : []));
  return [
    ...(Array.isArray(system) ? places("system", system) : []),
    ...places("tool", tools),
    ...messages.flatMap(({ role, content }, at) => places(`${String(role)} ${at}, block`, content as unknown[])),
  ];
}

describe("what Anthropic is asked to keep", () => {
  test("S14: is the system text, the tools, and what the user's last two messages end", async () => {
    const [first, second, third, fourth] = (await bodies({})).map(marksIn);
    expect(first).toEqual(["system 0 of 1", "tool 2 of 3", "user 0, block 0 of 1"]);
    expect(second).toEqual(["system 0 of 1", "tool 2 of 3", "user 0, block 0 of 1", "user 2, block 0 of 1"]);
    expect(third).toEqual(["system 0 of 1", "tool 2 of 3", "user 2, block 0 of 1", "user 4, block 1 of 2"]);
    expect(fourth).toEqual(["system 0 of 1", "tool 2 of 3", "user 4, block 1 of 2", "user 6, block 0 of 1"]);
  });

  test("is kept for five minutes, which needs no word, or for an hour", async () => {
    const marks = (all: readonly Body[]) => [...JSON.stringify(all).matchAll(/"cache_control":(\{[^}]*\})/g)];
    expect(new Set(marks(await bodies({})).map(([, mark]) => mark))).toEqual(new Set(['{"type":"ephemeral"}']));
    expect(new Set(marks(await bodies({ cache: "1h" })).map(([, mark]) => mark))).toEqual(
      new Set(['{"type":"ephemeral","ttl":"1h"}']),
    );
  });

  test("is nothing with cache: off, and the requests are otherwise the same", async () => {
    const off = await bodies({ cache: "off" });
    expect(off.flatMap(marksIn)).toEqual([]);
    const kept = (await bodies({})).map((body) => unmarked({ ...body, system: body.system[0]?.text }));
    expect(kept).toEqual(off);
  });

  test("is never a tool that a search loads", async () => {
    const opening = { ...OPENING, tools: [declared("f")], deferred: [declared("d.one"), declared("d.two")] };
    const [first] = await bodies({}, opening);
    expect(first && marksIn(first)[1]).toBe("tool 1 of 4");
  });

  test("are results alone while a hosted program waits", async () => {
    await using served = await serve(anthropicWire, [pausedTurn("a_b", { k: 1 }), { text: "4" }]);
    await drive(served.model(), HOSTED, [{ say: "Do it." }, {}]);
    expect(served.refusals).toEqual([]);
    expect(served.asked[1] && marksIn(served.asked[1].body as Body).at(-1)).toBe("user 2, block 0 of 1");
  });

  test.each(["2h", true, ""])("cannot be %j", (cache) => {
    expect(() => anthropic({ model: "m", apiKey: "k", cache: cache as never })).toThrow(
      'anthropic({ cache }): expected "5m", "1h" or "off"',
    );
  });
});
