import { expect, test } from "vitest";
import { askOn, counted } from "./provider.suite.ts";
import type { Fields, Wire } from "./wire.ts";
import { anthropicWire, chatWire, geminiWire, responsesWire } from "./wires.ts";

const USE = { type: "tool_use", id: "toolu_1", name: "f", input: { k: 1 } };
const DIRECT = { ...USE, caller: { type: "direct" } };
const ITEM = {
  type: "function_call",
  id: "fc_1",
  call_id: "c_1",
  name: "f",
  arguments: '{"k":1}',
  status: "completed",
};
const PART = { functionCall: { id: "fc-1", name: "f", args: { k: 1 } } };
const THINKING = [
  { type: "thinking", thinking: "Hm… é\u0000", signature: "c2ln+/=" },
  { type: "redacted_thinking", data: "ZGF0YQ==" },
];
const VENDORS = {
  role: "assistant",
  content: null,
  reasoning_content: "Hm.",
  tool_calls: [
    {
      id: "call_a",
      type: "function",
      function: { name: "f", arguments: '{"k":1}' },
      extra_content: { google: { thought_signature: "c2ln" } },
    },
  ],
};

/** What a model said before its call. Each wire refuses a history in which any of it was changed. */
const SAID: readonly (readonly [what: string, wire: Wire, raw: Fields])[] = [
  ["A6: thinking, before the call that followed it,", anthropicWire, { content: [...THINKING, DIRECT] }],
  ["A12: a call without a caller, which is the model's own,", anthropicWire, { content: [USE] }],
  [
    "A19: a block of an unknown type",
    anthropicWire,
    { content: [{ type: "odd_block", deep: { a: [1, null] } }, DIRECT] },
  ],
  ["what is beside an empty text", anthropicWire, { content: [{ type: "text", text: "", citations: null }, DIRECT] }],
  [
    "R13: an item of an unknown type",
    responsesWire,
    { output: [{ type: "odd_item", id: "odd_1", deep: [1, null] }, ITEM] },
  ],
  [
    "R14: sealed content of the item that is done",
    responsesWire,
    { output: [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "final" }, ITEM] },
  ],
  ["C6: a vendor's own field of a call or a message", chatWire, { message: VENDORS }],
  [
    "G8: a signature on a part without text",
    geminiWire,
    { parts: [{ text: "Hm." }, { text: "", thoughtSignature: "c2ln" }, PART] },
  ],
  [
    "an unknown part or field, signed or not,",
    geminiWire,
    {
      parts: [
        { text: "Hm.", oddField: { deep: [1, null] } },
        { oddPart: { a: null }, thoughtSignature: "c2lnMQ==" },
        { functionCall: { ...PART.functionCall, oddField: 1 }, thoughtSignature: "c2lnMg==" },
      ],
    },
  ],
];

test.each(SAID.flatMap(([what, wire, raw]) => [true, false].map((stream) => [what, stream, wire, raw] as const)))(
  "%s is sent back unchanged (streamed: %j)",
  async (_, stream, wire, raw) => {
    const f = counted("f");
    const { answer, served } = await askOn(wire, [{ raw }, { text: "4" }], { tools: [f.tool], stream });
    expect([answer, served.refusals, f.inputs]).toEqual(["4", [], [{ k: 1 }]]);
  },
);
