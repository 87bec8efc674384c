import { describe, expect, test } from "vitest";
import { z } from "zod";
import { compactAtOf } from "../../src/conversations/prompt/compact.ts";
import { openai } from "../../src/index.ts";
import type { Model } from "../../src/models/index.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { driveAndRestore, OPENING } from "./converse.ts";
import { expectSameRequests, leftAndAnswered } from "./restored.ts";
import { serve, type Wire, type WireStep } from "./wire.ts";
import { answered, makeTool, runtimeWith } from "../support/index.ts";
import { anthropicWire, chatWire, geminiWire, responsesWire } from "./wires.ts";

const COMPACTION_USAGE = { input_tokens: 5000, output_tokens: 300, cache_read_input_tokens: 20 };
const SUMMARY = { type: "compaction", content: "So far: f gave 1.", encrypted_content: "c2VhbGVk" };
const SEALED = { type: "compaction", id: "cmp_1", encrypted_content: "c2VhbGVk" };

/** A turn in which the provider has made the history shorter, and then calls. */
const anthropicTurn: WireStep = {
  raw: {
    content: [
      SUMMARY,
      { type: "text", text: "I go on.", citations: null },
      { type: "tool_use", id: "toolu_9", name: "f", input: { k: 2 }, caller: { type: "direct" } },
    ],
    usage: {
      input_tokens: 100,
      output_tokens: 20,
      cache_creation_input_tokens: 7,
      cache_read_input_tokens: 3,
      iterations: [
        { type: "compaction", ...COMPACTION_USAGE },
        { type: "message", input_tokens: 100, output_tokens: 20 },
      ],
    },
  },
};
const responsesTurn: WireStep = {
  raw: {
    output: [
      SEALED,
      { type: "function_call", id: "fc_9", call_id: "call_9", name: "f", arguments: '{"k":2}', status: "completed" },
    ],
  },
};

const stored: Wire = { ...responsesWire, model: (given) => openai({ model: "gpt-test", ...given, store: true }) };
const WITH: readonly (readonly [name: string, wire: Wire, turn: WireStep, asked: unknown])[] = [
  [
    "Anthropic Messages",
    anthropicWire,
    anthropicTurn,
    { edits: [{ type: "compact_20260112", trigger: { type: "input_tokens", value: 160_000 } }] },
  ],
  ["OpenAI Responses", responsesWire, responsesTurn, [{ type: "compaction", compact_threshold: 160_000 }]],
  ["OpenAI Responses, stored", stored, responsesTurn, [{ type: "compaction", compact_threshold: 160_000 }]],
];

const f = makeTool({
  name: "f",
  inputSchema: z.object({ k: z.number() }),
  allowedCallers: ["direct"],
  execute: ({ k }) => k,
});
/** What comes of a conversation that leaves its history to the provider. */
async function compacted(model: Model, more: object = {}) {
  return await answered([f], { model, task: "Do it.", programs: "none", loop: { compact: "provider" }, ...more });
}
const first: WireStep = { calls: [{ tool: "f", input: { k: 1 } }] };

describe.each(
  WITH.flatMap(([name, ...rest]) => [
    [name, true, ...rest] as const,
    [`${name}, in one piece`, false, ...rest] as const,
  ]),
)("with %s", (_, stream, wire, turn, asked) => {
  test("S16: each request asks for it, and what it gave goes back unchanged, also when the conversation is taken up", async () => {
    await using served = await serve(wire, [first, turn, { text: "4" }]);
    const { sent, again } = await driveAndRestore(
      (fetch) => served.model({ stream, fetch }),
      fetch,
      { ...OPENING, compactAt: 160_000 },
      [{ say: "Do it." }, {}, {}],
    );
    expect([served.refusals, again]).toEqual([[], sent]);
    for (const { body } of served.asked) expect(body.context_management).toEqual(asked);
    const kept = wire === anthropicWire ? SUMMARY : SEALED;
    if (wire !== stored) expect(sent[2]).toContain(JSON.stringify(kept).slice(1, -1));
  });

  test("a conversation leaves its history to the provider, keeps its transcript, and counts what it took", async () => {
    await using served = await serve(wire, [first, turn, { text: "4" }]);
    await using runtime = await runtimeWith([f]);
    const model = served.model({ stream });
    const report = await runtime.agent({ model, task: "Do it.", programs: "none", loop: { compact: "provider" } });
    expect([report.ending, served.refusals]).toEqual([{ type: "answered", answer: "4" }, []]);
    expect(report.transcript.turns.map(({ results }) => results.map(({ text }) => text))).toEqual([["1"], ["2"], []]);
    expect(JSON.stringify(report.transcript)).not.toContain("c2VhbGVk");
    if (wire === anthropicWire) {
      const { usage } = report.transcript.turns[1]?.turn ?? {};
      expect(usage).toEqual({ inputTokens: 110 + 5020, outputTokens: 320, cachedInputTokens: 23 });
    }
    // Without the option, a history that was made shorter once can still be sent.
    const records = await Array.fromAsync(runtime.journal.read(report.execution));
    const bare = served.asked.map(({ text }) =>
      JSON.stringify(JSON.parse(text), (name, value: unknown) => (name === "context_management" ? undefined : value)),
    );
    await expectSameRequests(records, bare, (other) => served.model({ stream, fetch: other }), {
      tools: [f],
      programs: "none",
    });
  });
});

test("a history that was made shorter once is sent with the header alone by a process without the option", async () => {
  await using served = await serve(anthropicWire, [anthropicTurn, { text: "4" }]);
  const begun = { model: served.model(), programs: "none", loop: { compact: "provider" } } as const;
  const { answer } = await leftAndAnswered([f], begun, { model: served.model() });
  expect([answer, served.refusals]).toEqual(["4", []]);
  expect(served.asked[1]?.body.context_management).toBeUndefined();
});

describe("with Anthropic, what made the history shorter", () => {
  const withBlocks = (...blocks: readonly unknown[]): WireStep => ({
    raw: { content: [...blocks, { type: "text", text: "4", citations: null }] },
  });
  const answer = async (script: readonly WireStep[], stream: boolean) => {
    await using served = await serve(anthropicWire, script);
    const report = await compacted(served.model({ stream }), { loop: { compact: "provider", maxTurns: 4 } });
    return { ...report, refusals: served.refusals, asked: served.asked };
  };

  test.each([true, false])("may have failed, be sealed, or come several times (streamed: %s)", async (stream) => {
    const failed = { type: "compaction", content: null };
    const sealed = { type: "compaction", content: null, encrypted_content: "c2VhbGVk" };
    const { ending, refusals } = await answer([withBlocks(failed, SUMMARY, sealed, SUMMARY)], stream);
    expect([ending, refusals]).toEqual([{ type: "answered", answer: "4" }, []]);
  });

  test.each([5, ["text"], { text: "a" }, true])("is never %j: no history with it is sent", async (content) => {
    for (const stream of [true, false]) {
      const { ending, asked } = await answer([withBlocks({ type: "compaction", content }), { text: "4" }], stream);
      expect(ending).toMatchObject({ type: "provider_failed", failure: { code: "reply_invalid" } });
      expect(asked).toHaveLength(1);
    }
  });

  test("is asked for no more often than the conversation has turns, if it never comes to an answer", async () => {
    const again: WireStep = { raw: { content: [SUMMARY], stop_reason: "compaction" } };
    const { ending, asked } = await answer([again, again, again, again, again, again], true);
    expect([ending.type, asked.length]).toEqual(["turns_spent", 4]);
  });

  test("is sent again whole, however large it is, and once", async () => {
    const huge = { ...SUMMARY, content: "So far. ".repeat(200_000) };
    const call = { type: "tool_use", id: "toolu_9", name: "f", input: { k: 2 }, caller: { type: "direct" } };
    const { ending, asked } = await answer([{ raw: { content: [huge, call] } }, { text: "4" }], true);
    expect(ending).toEqual({ type: "answered", answer: "4" });
    expect(asked[1]?.text.split(huge.content)).toHaveLength(2);
  });
});

test.each([5, null, undefined, {}])(
  "with OpenAI, what made the history shorter is never %j: no history with it is sent",
  async (sealed) => {
    const output = [
      { ...SEALED, encrypted_content: sealed },
      { type: "message", role: "assistant", content: [] },
    ];
    await using served = await serve(responsesWire, [{ raw: { output } }, { text: "4" }]);
    const { ending } = await compacted(served.model());
    expect(ending).toMatchObject({ type: "provider_failed", failure: { code: "reply_invalid" } });
    expect(served.asked).toHaveLength(1);
  },
);

test("a full context asks for no last turn, because the provider makes room", async () => {
  const usage = { input_tokens: 199_000, output_tokens: 20 };
  const content = [{ type: "tool_use", id: "toolu_1", name: "f", input: { k: 1 }, caller: { type: "direct" } }];
  await using served = await serve(anthropicWire, [{ raw: { content, usage } }, { text: "4" }]);
  const { ending } = await compacted(served.model({ stream: false }));
  expect(ending).toEqual({ type: "answered", answer: "4" });
});

describe("is refused by name", () => {
  const model = (wire: Wire) => wire.model({ apiKey: wire.key, baseUrl: "http://127.0.0.1:9", retries: 0 });

  test.each([
    ["chat completions", model(chatWire)],
    ["gemini", model(geminiWire)],
    ["a script", scriptedModel([])],
  ])("for %s, as a model and as a fallback, before any request", async (_, other) => {
    const refusal = {
      code: "option_invalid",
      message: `agent({ loop: { compact: "provider" } }): ${other.name} does not make a history shorter by itself. Leave it out, or give a function.`,
    };
    await expect(compacted(other)).rejects.toMatchObject(refusal);
    await expect(compacted(model(anthropicWire), { fallbacks: [other] })).rejects.toMatchObject(refusal);
  });

  test("where the context is smaller than what the provider begins at", () => {
    const named = { name: "anthropic:x", compactsFrom: 50_000 };
    expect(() => compactAtOf(named, { compact: "provider", contextTokens: 60_000 }, "agent")).toThrow(/50000 .*62500/);
    expect(compactAtOf(named, { compact: "provider", contextTokens: 62_500 }, "agent")).toBe(50_000);
    expect(compactAtOf(named, {}, "agent")).toBeUndefined();
  });

  test.each(["anthropic", true, {}])("and %j is no way to make a history shorter", async (compact) => {
    await expect(compacted(scriptedModel([]), { loop: { compact } })).rejects.toThrow(
      'agent({ loop: { compact } }): expected a function, or "provider"',
    );
  });
});
