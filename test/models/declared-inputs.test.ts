import { expect, test } from "vitest";
import { createRuntime, jsonSchema, type Schema } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { type Fields, modelOfBodies } from "./wire.ts";
import { answered, makeTool } from "../support/index.ts";
import { anthropicWire, chatWire, geminiWire, responsesWire } from "./wires.ts";

const PROVIDERS = {
  anthropic: anthropicWire,
  openai: responsesWire,
  openaiChat: chatWire,
  gemini: geminiWire,
};
const ALL = Object.keys(PROVIDERS) as (keyof typeof PROVIDERS)[];

/** What a provider is told of a tool's input, and what the handler gets if the model then writes `written`. */
function declare(name: keyof typeof PROVIDERS, schema: object, written?: unknown, options: object = {}) {
  return declareBy(name, jsonSchema({ type: "object", ...schema }), written, options);
}

async function declareBy(name: keyof typeof PROVIDERS, input: Schema, written?: unknown, options: object = {}) {
  const requests: Fields[] = [];
  const handled: unknown[] = [];
  const tool = makeTool({
    name: "t",
    inputSchema: input,
    allowedCallers: ["direct"],
    execute: (input) => void handled.push(input),
  });
  const wire = PROVIDERS[name];
  const calls = written === undefined ? [] : [{ calls: [{ tool: "t", input: written }] }];
  const bodies = [...calls, { text: "Done." }].map((turn) => JSON.stringify(wire.json(turn, 1)));
  const model = modelOfBodies(wire, false, bodies, (body) => requests.push(body), options);
  await answered([tool], { model, task: "Do it.", programs: "none" });
  const [declared] = ((requests[0]?.tools ?? []) as Fields[]).flatMap(
    (one) => (one.functionDeclarations as Fields[] | undefined) ?? [one],
  );
  const about = (declared?.function ?? declared) as Fields;
  return { schema: (about.parameters ?? about.input_schema ?? about.parametersJsonSchema) as Fields, handled };
}

const either = { properties: { id: { type: "string" } }, anyOf: [{ required: ["id"] }, { required: ["slug"] }] };
const tree = { $ref: "#/$defs/t", $defs: { t: { type: "object", properties: { up: { $ref: "#/$defs/t" } } } } };
const self = { properties: { id: {}, up: { $ref: "#" } }, oneOf: [{ required: ["id"] }, { required: ["up"] }] };

test.each([
  ["anthropic", either, { id: "a" }],
  ["openai", either, { id: "a" }],
  ["openaiChat", either, { id: "a" }],
  ["openai", { not: { required: ["a"] }, additionalProperties: true }, { b: 1 }],
  ["openaiChat", tree, { up: { up: {} } }],
  ["anthropic", self, { up: { id: 1 } }],
] as const)(
  "%s takes no alternatives at the top of a schema: %j is the schema of one field",
  async (name, schema, value) => {
    const { schema: declared, handled } = await declare(name, schema, { input: value });
    expect(declared).toMatchObject({ type: "object", required: ["input"], properties: { input: {} } });
    for (const word of ["anyOf", "oneOf", "not", "$ref"]) expect(declared).not.toHaveProperty([word]);
    expect(handled).toEqual([value]);
    // A model that has read of the fields elsewhere writes them as they are.
    expect((await declare(name, schema, value)).handled).toEqual([value]);
  },
);

test("a reference of such a schema to the whole leads to the field", async () => {
  const { schema } = await declare("openai", self);
  expect(schema.properties).toMatchObject({ input: { properties: { up: { $ref: "#/properties/input" } } } });
});

const odd = {
  properties: {
    $filter: { type: "string" },
    "ids[]": { type: "array", items: { type: "object", properties: { 名前: {}, 住所: {} }, required: ["名前"] } },
    _filter: { type: "object", additionalProperties: { type: "string" } },
    ["x".repeat(80)]: { $ref: "#/properties/ids%5B%5D" },
    plain: {},
  },
  required: ["$filter"],
};

test("Anthropic takes names of some characters alone: others are mapped, and turned back at the call", async () => {
  const { schema } = await declare("anthropic", odd);
  const names: string[] = [];
  JSON.stringify(schema, (key, value: Fields) => {
    if (key === "properties") names.push(...Object.keys(value));
    return value;
  });
  expect(names.filter((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))).toEqual([]);
  const properties = schema.properties as Record<string, Fields>;
  const nameOf = (own: string) => names.find((name) => properties[name]?.title === own) ?? "";
  const [filter, ids, long] = [nameOf("$filter"), nameOf("ids[]"), nameOf("x".repeat(80))];
  expect(schema.required).toEqual([filter]);
  expect(properties[long]?.$ref).toBe(`#/properties/${ids}`);
  const { required = [] } = (properties[ids]?.items ?? {}) as { readonly required?: readonly string[] };
  const first = required.join("");
  const data = { [filter]: "data, no name of a field" };
  const { handled } = await declare("anthropic", odd, {
    [filter]: "f",
    [ids]: [{ [first]: 1 }],
    [long]: [{ [first]: 2 }],
    _filter: data,
    plain: 1,
  });
  expect(handled).toEqual([
    { $filter: "f", "ids[]": [{ 名前: 1 }], ["x".repeat(80)]: [{ 名前: 2 }], _filter: data, plain: 1 },
  ]);
});

test.each(ALL.filter((name) => name !== "anthropic"))("%s takes any name of a field", async (name) => {
  const { schema, handled } = await declare(name, odd, { $filter: "f" });
  expect(schema.properties).toHaveProperty("$filter");
  expect(handled).toEqual([{ $filter: "f" }]);
});

test.each(ALL.filter((name) => name !== "anthropic"))("%s is told the elements of every list", async (name) => {
  const { schema } = await declare(name, {
    properties: { a: { type: "array" }, b: { type: "array", prefixItems: [{ type: "number" }] } },
  });
  expect(schema.properties).toMatchObject({ a: { items: {} }, b: { items: {} } });
});

test.each(["openai", "openaiChat"] as const)(
  "%s is told the fields of every object, and that none is forbidden",
  async (name) => {
    const { schema, handled } = await declare(
      name,
      { additionalProperties: { type: "object" } },
      { a: { b: 1 } },
      { strict: true },
    );
    expect(schema).toEqual({
      type: "object",
      properties: {},
      additionalProperties: { type: "object", properties: {} },
    });
    expect(handled).toEqual([{ a: { b: 1 } }]);
  },
);

/** Words in forms that the current draft does not have, and what is declared of them. */
const FORMS: readonly (readonly [written: object, declared: object])[] = [
  [
    { type: "string", title: 5, description: ["Two", "lines."] },
    { type: "string", description: "Two\nlines." },
  ],
  [
    { type: ["string", "string"], enum: ["a", "a"] },
    { type: ["string"], enum: ["a"] },
  ],
  [{ type: [], anyOf: [], oneOf: [], allOf: [] }, {}],
  [
    { type: "string", minLength: 1.5, maxLength: -1, format: 5 },
    { type: "string", minLength: 2 },
  ],
  [
    { type: "number", multipleOf: 0, maximum: -1 },
    { type: "number", maximum: -1 },
  ],
  [
    { type: "string", examples: "a", deprecated: "no", readOnly: "true" },
    { type: "string", examples: ["a"], readOnly: true },
  ],
  [{ $id: "#a", $comment: 1, contentSchema: "x", $vocabulary: [] }, {}],
  [
    { required: ["a", "a"], dependentRequired: { a: ["b", "b"] } },
    { required: ["a"], dependentRequired: { a: ["b"] } },
  ],
];

test.each(FORMS)("a provider is told no word in a form that its draft does not have: %j", async (written, declared) => {
  expect((await declare("anthropic", { properties: { a: written } })).schema.properties).toEqual({ a: declared });
});

test.each(["openai", "openaiChat"] as const)(
  "%s is told no pattern that is none in Python, or that looks around",
  async (name) => {
    const pattern = (of: string) => ({ type: "string", pattern: of });
    const { schema } = await declare(name, {
      properties: { a: pattern("^(?!null$)"), b: pattern(String.raw`^\p{L}+$`), c: pattern(String.raw`^(?:\d|x)$`) },
      patternProperties: { "^(?=x)": { type: "string" } },
      additionalProperties: false,
    });
    const text = { type: "string" };
    expect(schema).toEqual({ type: "object", properties: { a: text, b: text, c: pattern(String.raw`^(?:\d|x)$`) } });
  },
);

test.each(ALL)("%s is told no type that JSON does not have", async (name) => {
  const json = () => ({ type: "object", properties: { a: { type: "file" }, b: { type: ["string", "file"] } } });
  const standard = {
    version: 1,
    vendor: "other",
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: json, output: json },
  } as const;
  const { schema } = await declareBy(name, { "~standard": standard });
  expect(schema.properties).toEqual({ a: {}, b: {} });
});

test("Anthropic takes no field without a name", async () => {
  const { schema, handled } = await declare("anthropic", { properties: { "": {} } }, { _e3b0c442: 1 });
  expect(Object.keys(schema.properties as Fields)).toEqual(["_e3b0c442"]);
  expect(handled).toEqual([{ "": 1 }]);
});

test.each([
  [either, { properties: { id: { type: "string" } } }],
  [
    { properties: { a: {} }, required: ["a", "b"] },
    { properties: { a: {} }, required: ["a"] },
  ],
  [{ properties: { a: { items: { required: ["b"] } } } }, { properties: { a: { items: {} } } }],
  [
    { properties: { a: {}, b: {} }, allOf: [{ required: ["a"] }, { required: ["b"] }] },
    { properties: { a: {}, b: {} }, required: ["a", "b"] },
  ],
  [
    { properties: { a: { type: "string", properties: { b: {} }, required: ["b"], items: {} } } },
    { properties: { a: { type: "string" } } },
  ],
  [
    {
      properties: { a: { type: ["string", "null"], enum: ["", "a", null] }, b: { const: true }, c: { enum: [1, "x"] } },
    },
    { properties: { a: { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] }, b: {}, c: { enum: [1, "x"] } } },
  ],
])("Gemini is told of fields that there are, and of values that have a name: %j", async (schema, declared) => {
  expect((await declare("gemini", schema)).schema).toEqual({ type: "object", ...declared });
});

test("the log says once of which tools' inputs a provider is told otherwise, in one line, and the model nothing", async () => {
  const odd = jsonSchema({ type: "object", properties: { $filter: { not: { type: "string" } } } });
  const plain = jsonSchema({ type: "object", properties: { a: { type: "string", minLength: 1 } } });
  const tools = [
    makeTool({ name: "plain", inputSchema: plain, allowedCallers: ["direct"] }),
    ...Array.from({ length: 30 }, (_, n) =>
      makeTool({ name: `odd${n}`, inputSchema: odd, allowedCallers: ["direct"] }),
    ),
  ];
  const toldBy = async (name: keyof typeof PROVIDERS) => {
    const wire = PROVIDERS[name];
    const told: unknown[] = [];
    const events: unknown[] = [];
    const requests: string[] = [];
    const done = JSON.stringify(wire.json({ text: "Done." }, 1));
    const model = modelOfBodies(wire, false, [done], (body) => requests.push(JSON.stringify(body)));
    const warn = ({ code }: { readonly code: string }, message: string) => void told.push(`${code}: ${message}`);
    const options = { tools, sandbox: createMemorySandbox(), logger: { error: () => {}, warn } };
    await using runtime = await createRuntime(options);
    await using talk = await runtime.conversation({
      model,
      programs: "none",
      onEvent: (event) => event.type === "inputs_changed" && events.push(event.tools.length),
    });
    await talk.send("Do it.");
    await talk.send("Do it again.");
    expect(requests.join("\n")).not.toContain("otherwise");
    return { told, events };
  };
  for (const name of ["anthropic", "gemini"] as const) {
    const names = Array.from({ length: 20 }, (_, n) => `odd${n}`).join(", ");
    const line = `is told of the inputs of ${names} and 10 more otherwise than their schemas say, by which calls are checked: portcullis tools --check says how.`;
    expect(await toldBy(name)).toEqual({
      told: [expect.stringMatching(new RegExp(`^inputs_changed: \\S+ ${line.replaceAll(".", "\\.")}$`))],
      events: [30],
    });
  }
  expect(await toldBy("openai")).toEqual({ told: [], events: [] });
});
