import { describe, expect, test } from "vitest";
import { z } from "zod";
import { jsonSchema } from "../../../src/index.ts";
import { flatSchema } from "../../../src/models/gemini/flat-schema.ts";
import { makeTool } from "../../gate/open-session.ts";
import { geminiWire } from "./wire.ts";
import { type Asking, askOn, behavesAsModel, counted } from "../provider.suite.ts";
import { MODES, type Served, type WireStep } from "../wire.ts";
import { timeless } from "../../support/timeless.ts";
import { throws } from "../../support/failing.ts";

behavesAsModel("Gemini", geminiWire);

const call = (name: string, args: object, id?: string) => ({
  functionCall: { ...(id === undefined ? {} : { id }), name, args },
});
const partsOf = ({ asked }: Served, request: number, place: number) =>
  (asked[request]?.body.contents as { parts: Record<string, unknown>[] }[] | undefined)?.at(place)?.parts;

describe.each(MODES)("Gemini, %s", (_, stream) => {
  const run = (script: readonly WireStep[], asking: Asking = {}) => askOn(geminiWire, script, { stream, ...asking });

  test("G1: of two calls at once the first is signed, and the signature stays where it was", async () => {
    const parts = [{ ...call("f", { k: 1 }, "fc-1"), thoughtSignature: "c2lnMQ==" }, call("f", { k: 2 }, "fc-2")];
    const { answer, served } = await run([{ raw: { parts } }, { text: "4" }], { tools: [counted("f").tool] });
    expect([answer, served.refusals]).toEqual(["4", []]);
    expect(partsOf(served, 1, 1)).toEqual(parts);
    expect(timeless(partsOf(served, 1, 2))).toEqual([
      { functionResponse: { id: "fc-1", name: "f", response: { output: 1 } } },
      { functionResponse: { id: "fc-2", name: "f", response: { output: 2 } } },
    ]);
  });

  test("G2: each step keeps its signature", async () => {
    const step = (k: number) => ({
      raw: { parts: [{ ...call("f", { k }, `fc-${k}`), thoughtSignature: `c2ln${k}` }] },
    });
    const { answer, served } = await run([step(1), step(2), { text: "4" }], { tools: [counted("f").tool] });
    expect([answer, served.refusals]).toEqual(["4", []]);
    expect([1, 3].map((place) => partsOf(served, 2, place)?.[0]?.thoughtSignature)).toEqual(["c2ln1", "c2ln2"]);
  });

  const broken = throws("hunter2");
  test.each<[string, () => unknown, object]>([
    ["G3: a list is the output", () => [1, 2], { output: [1, 2] }],
    ["G4: a failure is an error", broken, { error: expect.stringMatching(/^  f failed\. (?!.*hunter2)/) }],
  ])("%s in an object", async (_, execute, response) => {
    const f = makeTool({ name: "f", allowedCallers: ["direct"], execute });
    const { served } = await run([{ calls: [{ id: "fc-1", tool: "f" }] }, { text: "4" }], { tools: [f] });
    expect(timeless(partsOf(served, 1, -1))).toEqual([{ functionResponse: { id: "fc-1", name: "f", response } }]);
  });

  test("G5: calls without ids are answered without, in their order", async () => {
    const parts = [call("f", { k: 1 }), call("f", { k: 2 })];
    const { answer, served, calls } = await run([{ raw: { parts } }, { text: "4" }], { tools: [counted("f").tool] });
    expect([answer, served.refusals]).toEqual(["4", []]);
    expect(timeless(partsOf(served, 1, -1))).toEqual(
      [1, 2].map((output) => ({
        functionResponse: { name: "f", response: { output } },
      })),
    );
    expect(new Set(calls.map(({ callId }) => callId)).size).toBe(2);
  });

  test("G6: the model gets the schema in Gemini's form, and its calls are checked against the tool's own", async () => {
    const schema = jsonSchema({
      type: "object",
      properties: { size: { $ref: "#/$defs/size" }, unit: { const: "cm" } },
      required: ["size"],
      $defs: { size: { oneOf: [{ type: "integer", minimum: 1 }, { type: "null" }] } },
    });
    const f = counted("f", { inputSchema: schema });
    const { answer, served, transcript } = await run(
      [{ calls: [{ tool: "f", input: { size: 1, unit: "m" } }] }, { text: "4" }],
      { tools: [f.tool] },
    );
    expect([answer, served.refusals, f.inputs]).toEqual(["4", [], []]);
    expect(transcript.turns[0]?.results).toMatchObject([{ isError: true }]);
  });

  test("thoughts are not part of the answer", async () => {
    const { answer } = await run([{ raw: { parts: [{ text: "private", thought: true }, { text: "4" }] } }]);
    expect(answer).toBe("4");
  });

  const bad = (finishReason: string) =>
    ({ raw: { parts: [call("f", { k: 1 })], finishReason }, isDropped: true }) as const;

  describe.each(["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"])("%s", (reason) => {
    test("S17: is told to the model once, without the turn, and no call of it is made", async () => {
      const f = counted("f");
      const script = [bad(reason), { calls: [{ tool: "f", input: { k: 2 } }] }, { text: "4" }];
      const { answer, served, transcript } = await run(script, { tools: [f.tool] });
      expect([answer, served.refusals, f.inputs]).toEqual(["4", [], [{ k: 2 }]]);
      expect(transcript.turns.map(({ turn, said = [] }) => [turn.end.type, said.map(({ why }) => why)])).toEqual([
        ["invalid", []],
        ["called", ["turn_invalid"]],
        ["answered", []],
      ]);
      expect(served.asked[1]?.text).toContain("Your last turn could not be used");
      expect(served.asked[1]?.text).toContain(`(${reason})`);
      expect(served.asked[1]?.text).not.toContain('"functionCall"');
    });

    test("ends the conversation when it comes again", async () => {
      const f = counted("f");
      const { ending, served } = await run([bad(reason), bad(reason)], { tools: [f.tool] });
      expect(ending).toMatchObject({
        type: "provider_failed",
        failure: { code: "reply_invalid", message: expect.stringContaining(reason) as string },
      });
      expect([served.asked.length, f.inputs]).toEqual([2, []]);
    });
  });

  test("a blocked prompt is a refusal", async () => {
    const { ending } = await run([{ raw: { parts: [], candidates: [], promptFeedback: { blockReason: "SAFETY" } } }]);
    expect(ending).toEqual({ type: "refused", reason: expect.stringContaining("SAFETY") });
  });
});

test("a schema is flattened: references are inlined, oneOf becomes anyOf, a constant becomes an enumeration", () => {
  const schema = {
    type: "object",
    properties: {
      a: { $ref: "#/$defs/a", description: "an a" },
      b: { oneOf: [{ const: 1 }, { type: ["string", "null"] }] },
      c: {
        allOf: [{ type: "object", properties: { x: { type: "string" } }, required: ["x"] }, { properties: { y: {} } }],
      },
      d: { $ref: "#" },
    },
    additionalProperties: false,
    $defs: { a: { type: "array", items: { type: "integer", exclusiveMinimum: 0 }, uniqueItems: true } },
  };
  expect(flatSchema(schema)).toEqual({
    type: "object",
    properties: {
      a: { type: "array", items: { type: "integer" }, description: "an a" },
      b: { anyOf: [{ enum: [1] }, { anyOf: [{ type: "string" }, { type: "null" }] }] },
      c: { type: "object", properties: { x: { type: "string" }, y: {} }, required: ["x"] },
      d: expect.objectContaining({ type: "object", properties: expect.objectContaining({ d: { type: "object" } }) }),
    },
  });
  expect(flatSchema(z.toJSONSchema(z.object({ k: z.number() })))).toEqual({
    type: "object",
    properties: { k: { type: "number" } },
    required: ["k"],
  });
});
