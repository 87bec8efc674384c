import { expect, test } from "vitest";
import type { CallResult, ModelTurn } from "../../src/models/model.ts";
import { CALL_RESULT, MODEL_TURN, USER_MESSAGE } from "../../src/models/turn-shape.ts";

const parts = [
  { type: "image", mediaType: "image/png", data: "AA==", name: "a.png" },
  { type: "link", url: "https://a.example", mediaType: "text/html", name: "a" },
] as const;

const turn: Required<ModelTurn> = {
  type: "turn",
  text: "so",
  reasoning: "because",
  calls: [
    {
      type: "tool_call",
      id: "1",
      tool: "a.b",
      caller: "unknown",
      inputText: "{",
      program: "p",
      answerBy: 5,
      forbidden: "no",
    },
    { type: "program_call", id: "2", source: "return 1", forbidden: "no" },
    { type: "program_call", id: "3" },
  ],
  hosted: [
    { type: "hosted_program_started", program: "p", source: "return 1" },
    { type: "hosted_program_ended", program: "p", isError: false, output: "1" },
    { type: "hosted_program_ended", program: "q", isError: true },
    { type: "hosted_call_started", call: "s", tool: "web_search", input: "{}" },
    {
      type: "hosted_call_ended",
      call: "s",
      tool: "web_search",
      isError: false,
      output: "1",
      sources: [{ url: "https://a.example", title: "a" }],
    },
  ],
  citations: [{ url: "https://a.example" }],
  end: { type: "cut_off", reason: "long" },
  usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1 },
  origin: { message: "msg_1", request: "req_1", sdk: "openai@7.55.0", portcullis: "0.1.0" },
};

const provenance: Required<CallResult["provenance"]> = {
  tool: "a.b",
  bytes: 1,
  cut: "3 bytes",
  source: "mcp",
  from: "file:///a",
  at: 5,
  filtered: "2 names",
  approvedBy: "ann",
  summary: "completed",
};
const result: Required<CallResult> = {
  callId: "1",
  text: "1",
  isJson: true,
  isError: false,
  found: ["a.b"],
  parts,
  provenance,
};

test("a turn, a result and a message of the user keep all fields when they are read", () => {
  expect(MODEL_TURN.parse(turn)).toEqual(turn);
  expect(CALL_RESULT.parse(result)).toEqual(result);
  const message = [{ type: "text", text: "see" }, ...parts];
  expect(USER_MESSAGE.parse(message)).toEqual(message);
  expect(USER_MESSAGE.parse("see")).toBe("see");
});

test("what lacks a field, or has one of another type, is none", () => {
  const { calls, ...rest } = turn;
  for (const wrong of [
    rest,
    { ...turn, calls: [{ ...calls[0], caller: "guest" }] },
    { ...turn, end: { type: "cut_off" } },
  ])
    expect(MODEL_TURN.safeParse(wrong).success).toBe(false);
  for (const wrong of [
    { ...result, callId: 1 },
    { ...result, provenance: {} },
    { ...result, parts: [{ type: "link" }] },
  ])
    expect(CALL_RESULT.safeParse(wrong).success).toBe(false);
});
