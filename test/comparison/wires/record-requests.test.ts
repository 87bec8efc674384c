import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PortcullisError } from "../../../src/index.ts";
import type { CallResult, ModelCall, Opening } from "../../../src/models/model.ts";
import { recordLastRequest } from "../../../src/comparison/wires/record-requests.ts";
import type { GivenTurn, RequestPart, Wire } from "../../../src/comparison/wires/wire.ts";
import { WIRES } from "../../../src/comparison/wires/wires.ts";
import { runs } from "../../support/all-tests.ts";

const LONG = `crm.${"customers.of.a.region.and.their.orders.".repeat(3)}list`;

const opening: Opening = {
  instructions: "Be brief.",
  tools: [tool("flights.query"), tool(LONG), tool("flights_query")],
  runProgram: { name: "run_program", description: "Runs a program." },
  hosted: false,
};

function tool(name: string): Opening["tools"][number] {
  const input = { type: "object", properties: { from: { type: "string" } }, required: ["from"] };
  return { name, description: `About ${name.slice(0, 7)}`, input, callers: ["direct"] };
}

const call = (id: string, input: unknown, name = "flights.query"): ModelCall => ({
  type: "tool_call",
  id,
  tool: name,
  caller: "direct",
  inputText: JSON.stringify(input),
});
const program = (id: string, source: string): ModelCall => ({ type: "program_call", id, source });
const result = (callId: string, value: unknown, name = "flights.query"): CallResult => {
  const text = JSON.stringify(value);
  return { callId, text, isJson: true, isError: false, provenance: { tool: name, bytes: Buffer.byteLength(text) } };
};
const sentence = (callId: string, text: string, isError: boolean, name = "flights.query"): CallResult => ({
  callId,
  text,
  isJson: false,
  isError,
  provenance: { tool: name, bytes: Buffer.byteLength(text) },
});
const called = (text: string, calls: readonly ModelCall[], results: readonly CallResult[]): GivenTurn => ({
  turn: { text, calls, end: { type: "called" } },
  results,
});
const answered = (text: string): GivenTurn => ({ turn: { text, calls: [], end: { type: "answered" } }, results: [] });

const wires = [...WIRES.values()].map((wire) => [wire.provider, wire] as const);
const wireOf = (provider: string): Wire => WIRES.get(provider)!;
/** The request for each turn. */
const requestsOf = (wire: Wire, task: string, turns: readonly GivenTurn[]) =>
  Promise.all(turns.map((_, at) => recordLastRequest(wire, opening, task, turns.slice(0, at + 1))));

test("there are four, and only OpenAI's encoding is known", () => {
  expect(wires.map(([provider, { exact }]) => [provider, exact])).toEqual([
    ["anthropic", false],
    ["openai", true],
    ["openai-chat", true],
    ["gemini", false],
  ]);
});

// ---- by hand ---------------------------------------------------------------------------------------------------

/** A small conversation in which everything has its place. */
const small: readonly GivenTurn[] = [
  called(
    "Let me look.",
    [call("call_1", { from: "ATL" }), call("call_2", { from: "JFK" })],
    [result("call_1", [{ to: "JFK", n: 3 }]), sentence("call_2", "There is no such airport.", true)],
  ),
  called("", [program("call_3", 'return "é";\n')], [sentence("call_3", 'Returned:\n"é"', false, "run_program")]),
  answered("Three."),
];

const NAME = "flights_query_6f640dc0";

const LABELLED = {
  first: '[{"to":"JFK","n":3}]',
  second: "[failed]\nThere is no such airport.",
  third: 'Returned:\n"é"',
};
const GEMINI = {
  first: '{"output":[{"to":"JFK","n":3}]}',
  second: '{"error":"There is no such airport."}',
  third: String.raw`{"output":"Returned:\n\"é\""}`,
};
const PROGRAM_JSON = String.raw`{"code":"return \"é\";\n"}`;

const expectedParts = (results: typeof LABELLED, source: string): readonly RequestPart[] => [
  { type: "said", text: "How many?" },
  { type: "words", text: "Let me look." },
  { type: "call", callId: "call_1", name: NAME, text: '{"from":"ATL"}' },
  { type: "call", callId: "call_2", name: NAME, text: '{"from":"JFK"}' },
  { type: "result", callId: "call_1", text: results.first },
  { type: "result", callId: "call_2", text: results.second },
  { type: "call", callId: "call_3", name: "run_program", text: source },
  { type: "result", callId: "call_3", text: results.third },
];

test.each([
  ["anthropic", { ...LABELLED, second: "There is no such airport." }, PROGRAM_JSON],
  ["openai", LABELLED, 'return "é";\n'],
  ["openai-chat", LABELLED, PROGRAM_JSON],
  ["gemini", GEMINI, PROGRAM_JSON],
])("on %s the model reads the question, its own turns and their results", async (provider, results, source) => {
  const requests = await requestsOf(wireOf(provider), "How many?", small);
  const parts = expectedParts(results, source);
  expect(requests.map((request) => request.parts)).toEqual([parts.slice(0, 1), parts.slice(0, 6), parts]);
  for (const { instructions } of requests) expect(instructions).toBe("Be brief.");
});

const PARAMETERS = '{"type":"object","properties":{"from":{"type":"string"}},"required":["from"]}';

test.each([
  ["anthropic", `[{"name":"add","description":"About add","input_schema":${PARAMETERS}}]`],
  ["openai", `[{"type":"function","name":"add","description":"About add","parameters":${PARAMETERS},"strict":false}]`],
  [
    "openai-chat",
    `[{"type":"function","function":{"name":"add","description":"About add","parameters":${PARAMETERS}}}]`,
  ],
  [
    "gemini",
    '[{"functionDeclarations":[{"name":"add","description":"About add","parametersJsonSchema":{"required":["from"],"type":"object","properties":{"from":{"type":"string"}}}}]}]',
  ],
])("on %s definitions are the declarations as they were sent", async (provider, expected) => {
  const wire = wireOf(provider);
  const { definitions } = await recordLastRequest(
    wire,
    { instructions: "x", tools: [tool("add")], hosted: false },
    "?",
    [answered("1")],
  );
  expect(definitions).toBe(expected);
  const none = await recordLastRequest(wire, { instructions: "x", tools: [], hosted: false }, "?", [answered("1")]);
  expect(none.definitions).toBe("");
});

test("run_program takes plain text where the provider supports it, and JSON elsewhere", async () => {
  const { runProgram } = opening;
  const only: Opening = { instructions: "x", tools: [], ...(runProgram ? { runProgram } : {}), hosted: false };
  const read = async (provider: string) =>
    (await recordLastRequest(wireOf(provider), only, "?", [answered("1")])).definitions;
  expect(await read("openai")).toBe(
    '[{"type":"custom","name":"run_program","description":"Runs a program.","format":{"type":"text"}}]',
  );
  for (const provider of ["anthropic", "openai-chat", "gemini"]) expect(await read(provider)).toContain('"code"');
});

// ---- on all wires ----------------------------------------------------------------------------------------------

const names = ["flights.query", "flights_query", LONG, "unheard.of", "日本", ""];
const json = fc.jsonValue({ maxDepth: 2 });
const givenTurn = fc.record({
  text: fc.oneof(fc.constant(""), fc.string({ unit: "grapheme" })),
  calls: fc.array(
    fc.record({
      program: fc.boolean(),
      name: fc.constantFrom(...names),
      input: json,
      value: json,
      isError: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  ),
});
const conversation = fc.array(givenTurn, { maxLength: 4 }).map((turns) => {
  let count = 0;
  const given = turns.map(({ text, calls }) => {
    const all = calls.map((one) => {
      count += 1;
      const id = `call_${count}`;
      const source = JSON.stringify(one.input);
      const said = one.program ? program(id, source) : call(id, one.input, one.name);
      const name = one.program ? "run_program" : one.name;
      return { said, came: one.isError ? sentence(id, "No.", true, name) : result(id, one.value, name) };
    });
    return called(
      text,
      all.map(({ said }) => said),
      all.map(({ came }) => came),
    );
  });
  return [...given, answered("Done.")];
});

describe.each(wires)("on %s", (provider, wire) => {
  test("whatever is called, each request begins with the previous one, and only the last is complete", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (turns) => {
        const requests = await requestsOf(wire, "Why?", turns);
        for (const [index, request] of requests.entries()) {
          const { parts, instructions, definitions } = requests[index - 1] ?? { ...request, parts: [] };
          expect(request).toMatchObject({ instructions, definitions });
          expect(request.parts.slice(0, parts.length)).toEqual(parts);
        }
        const { parts = [] } = requests.at(-1) ?? {};
        expect(idsOf(parts, "call")).toEqual(turns.flatMap(({ turn }) => turn.calls.map(({ id }) => id)));
        expect(idsOf(parts, "result")).toEqual(idsOf(parts, "call"));
      }),
      { numRuns: runs(40) },
    );
  });

  test("a long conversation in parts is read like its turns, each alone", async () => {
    const large = fc.array(fc.nat({ max: 300 }), { minLength: 2, maxLength: 7 }).map((kilobytes) =>
      kilobytes.map((kilobyte, index) => {
        const [one, two] = [`call_${index}`, `call_${index}_b`];
        const calls = [call(one, {}), call(two, {})];
        return called("And?", calls, [result(one, "x".repeat(kilobyte * 1000)), result(two, index)]);
      }),
    );
    const check = async (turns: readonly GivenTurn[]) => {
      const read = (given: readonly GivenTurn[]) =>
        recordLastRequest(wire, opening, "Why?", [...given, answered("Done.")]);
      const [none, ...alone] = await Promise.all([read([]), ...turns.map((turn) => read([turn]))]);
      const said = none.parts.length;
      const parts = [...none.parts, ...alone.flatMap((one) => one.parts.slice(said))];
      expect(await read(turns)).toEqual({ ...none, parts });
    };
    await fc.assert(fc.asyncProperty(large, check), { numRuns: runs(10) });
  });

  test("a tool has the name by which it was declared", async () => {
    const turns = names.map((name, index) =>
      called("", [call(`call_${index}`, { from: "x" }, name)], [result(`call_${index}`, 1, name)]),
    );
    const { definitions, parts } = await recordLastRequest(wire, opening, "?", [...turns, answered("1")]);
    const given = parts.flatMap((part) => (part.type === "call" ? [part.name] : []));
    for (const name of given.slice(0, 3)) expect(definitions).toContain(`"name":${JSON.stringify(name)}`);
    expect(new Set(given.slice(0, 3)).size).toBe(3);
    expect(given.slice(3)).toEqual(["unheard.of", "日本", ""]);
  });

  test("a conversation that its adapter would change is refused with the place", async () => {
    const refused = async (turns: readonly GivenTurn[], begin: Opening = opening) => {
      const error: unknown = await recordLastRequest(wire, begin, "?", turns).catch((thrown: unknown) => thrown);
      expect(PortcullisError.is(error)).toBe(true);
      return (error as Error).message;
    };
    const done = answered("Done.");
    const one = call("call_1", {});
    const twice = [called("", [one], [result("call_1", 1)]), called("", [one], [result("call_1", 1)]), done];
    expect(await refused(twice)).toBe('turns[1]: expected calls with ids of their own, got "call_1".');
    expect(await refused([called("", [call("no id", {})], []), done])).toMatch(
      new RegExp(`^turns\\[0\\] cannot be measured on ${provider}: the turn given was .*"no id"`),
    );
    expect(await refused([called("", [{ ...one, caller: "programmatic" } as ModelCall], []), done])).toContain(
      "turns[0]",
    );
    expect(await refused([{ turn: { text: "x", calls: [], end: { type: "unfinished" } }, results: [] }])).toContain(
      'the turn given was ["unfinished","x"]',
    );
    expect(await refused([called("", [one, call("call_2", {})], [result("call_1", 1)]), done])).toBe(
      'turns[0].results: expected one for each call, and so for call_2, got ["call_1"].',
    );
    expect(await refused([done], { ...opening, hosted: true })).toContain("opening.hosted: expected false");
    await expect(recordLastRequest(wire, opening, "?", [])).rejects.toThrow(
      "turns: expected at least one turn, got [].",
    );
  });

  test("a value that is not a request of the provider is refused", () => {
    for (const body of [undefined, null, 1, "x", [], {}, { messages: {} }, { input: 1, contents: 1 }])
      expect(() => wire.partsOf(body)).toThrow(`This is not a request of ${provider}: its body is`);
  });
});

test("unknown parts of a request are refused, and not left out of the count", () => {
  const unknown = [
    ["anthropic", { system: "", messages: [{ role: "user", content: [{ type: "image" }] }] }],
    ["openai", { instructions: "", input: [{ type: "reasoning", encrypted_content: "x" }] }],
    [
      "openai-chat",
      {
        messages: [
          { role: "system", content: "" },
          { role: "developer", content: "x" },
        ],
      },
    ],
    ["gemini", { systemInstruction: {}, contents: [{ role: "user", parts: [{ inlineData: {} }] }] }],
  ] as const;
  for (const [provider, body] of unknown)
    expect(() => wireOf(provider).partsOf(body)).toThrow(`This is not a request of ${provider}`);
});

test("where Gemini gives no ids, results belong to calls by their order", () => {
  const functionCall = { name: "f", args: {} };
  const functionResponse = { name: "f", response: { output: 1 } };
  const contents = [
    { role: "model", parts: [{ functionCall }, { functionCall }] },
    { role: "user", parts: [{ functionResponse }, { functionResponse }] },
  ];
  const { parts } = wireOf("gemini").partsOf({ systemInstruction: { parts: [] }, contents });
  expect([idsOf(parts, "call"), idsOf(parts, "result")]).toEqual([
    ["call-1", "call-2"],
    ["call-1", "call-2"],
  ]);
});

function idsOf(parts: readonly RequestPart[], type: "call" | "result"): readonly string[] {
  return parts.flatMap((part) => (part.type === type ? [part.callId] : []));
}
