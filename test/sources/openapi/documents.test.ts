import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/index.ts";
import { validate } from "../../../src/tools/schema.ts";
import { toolDigest } from "../../../src/tools/tool-digest.ts";
import { declareTools } from "../../../src/tools/declarations/declarations.ts";
import {
  ALL,
  answerOf,
  bodyOf,
  callTool,
  jsonOf,
  operationOf,
  posting,
  sendJson,
  served,
  sourceOf,
  specOf,
} from "./api-server.ts";
import { failing } from "../../support/failing.ts";

const ids = (...operationIds: readonly (string | undefined)[]) =>
  specOf(Object.fromEntries(operationIds.map((operationId, index) => [`/p${index}`, { get: { operationId } }])));

const named = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

/** What programs read of the tools of a document. */
const declared = async (spec: object | string) => declareTools((await sourceOf(spec)).tools);

/** Whether an input fits. */
const takes = async (tool: Tool | undefined, input: object) => (await validate(tool!.inputSchema, input)).ok;

describe("names", () => {
  test.each([
    ["issues/list-for-repo", "api.issues.listForRepo"],
    ["getPetById", "api.getPetById"],
    ["List all things", "api.ListAllThings"],
    ["a/b/c-d", "api.a.b.cD"],
    ["2fa/get", "api._2fa.get"],
    ["constructor/__proto__", "api.constructor_.__proto___"],
    ["größe/查询-天气", "api.größe.查询天气"],
    ["ｇｅｔ①", "api.get1"],
    ["🔥", "api.__ed8d8305"],
    [undefined, "api.getP0"],
  ])("of %j is %s", async (operationId, name) => {
    const { tools, problems } = await sourceOf(ids(operationId));
    expect([tools.map((tool) => tool.name), problems]).toEqual([[name], []]);
  });

  test.each([
    ["ids that would be one name", ["a/b", "a:b", "fine"], ["getP0", "getP1", "fine"]],
    ["an id that is written as the name", ["get-thing", "getThing"], ["getP0", "getThing"]],
    ["one id twice", ["a", "a"], ["getP0", "getP1"]],
    ["an id that is the name by another's path", ["a", "a", "get-p0"], ["getP0_aea9a209", "getP1", "getP2_1edb5fcf"]],
    ["ids that begin others", ["levels", "levels:append", "levels/a/b"], ["levels", "levels_append", "levels_a_b"]],
  ])("of %s differ", async (_, operationIds, names) => {
    const { tools, problems } = await sourceOf(ids(...operationIds));
    expect([tools.map(({ name }) => name), problems]).toEqual([names.map((name) => `api.${name}`), []]);
  });

  const part = "users.mailFolders-messages-extensions-attachments".repeat(2);
  test.each([
    ["ids that differ beyond the end of a name", "api", [`a.${part}.b.${part}.get`, `a.${part}.b.${part}.list`], 128],
    ["a path, for a source with a long name", "a".repeat(100), [undefined], 100 + ".getP0".length],
    ["ids, for a source with a long name", "a".repeat(112), ["listForRepo", "listForRepository"], 128],
    ["ids that are cut within a character", "a".repeat(115), ["𐐀".repeat(10)], 127],
  ])("too long of %s end with a digest, and each operation is a tool", async (_, name, operationIds, length) => {
    const { tools, problems } = await sourceOf(ids(...operationIds), { name });
    const names = tools.map((tool) => tool.name);
    expect(problems).toEqual([]);
    expect(new Set(names).size).toBe(operationIds.length);
    expect(Math.max(...names.map((one) => one.length))).toBe(length);
    const again = await sourceOf(ids(...operationIds), { name });
    expect(again.tools.map((tool) => tool.name)).toEqual(names);
  });

  test("that clash by their policies are left out, each with a reason, and the rest stands", async () => {
    const { tools, problems } = await sourceOf(ids("a", "b", "c"), {}, (_, { path }) =>
      path === "/p0" ? { ...ALL, name: "b" } : path === "/p1" ? ALL : { ...ALL, name: "first" },
    );
    expect(tools.map(({ name }) => name)).toEqual(["api.first"]);
    expect(problems).toEqual([
      expect.stringMatching(/^api\.b \(GET \/p0\) .*GET \/p1;/),
      expect.stringMatching(/^api\.b \(GET \/p1\) .*GET \/p0;/),
    ]);
  });
});

describe("policies", () => {
  test("are chosen by what the document says, and nothing said is no caller's tool", async () => {
    const spec = specOf({ "/x": { get: { operationId: "a", tags: ["t"] }, post: { operationId: "b" }, delete: {} } });
    const asked: unknown[] = [];
    const { tools, unassigned, problems } = await sourceOf(spec, {}, (name, operation) => {
      asked.push([name, operation]);
      return name === "api.a" ? { allowedCallers: ["direct"] } : undefined;
    });
    expect(asked).toContainEqual(["api.a", { operationId: "a", method: "GET", path: "/x", tags: ["t"] }]);
    expect(tools).toMatchObject([{ name: "api.a", allowedCallers: ["direct"], effect: "read" }]);
    expect(unassigned).toMatchObject([{ name: "api.b" }, { name: "api.deleteX", operationId: undefined }]);
    expect(problems).toEqual([]);
    expect((await sourceOf(spec, {}, () => undefined)).tools).toEqual([]);
  });

  test.each([
    ["a field that there is none of", { ...ALL, efect: "read" }, "did you mean effect?"],
    ["a caller that there is none of", { allowedCallers: ["all"] }, `policy of "api.call": { allowedCallers }`],
    ["no callers", {}, `policy of "api.call": { allowedCallers }`],
    ["no object", "read", `policy of "api.call"`],
  ])("with %s are refused", async (_, policy, message) => {
    await expect(sourceOf(operationOf({}), {}, () => policy as typeof ALL)).rejects.toThrow(message);
  });
});

describe("inputs", () => {
  test("are flat where no name of the document collides", async () => {
    const spec = specOf({
      "/a/{id}": {
        parameters: [{ name: "id", in: "path", schema: { type: "string" } }],
        post: { operationId: "a", ...bodyOf(named({ title: { type: "string" } }, { required: ["title"] })) },
      },
      "/b": { put: { operationId: "b", ...bodyOf(named({ note: { type: "string" } })) } },
    });
    expect(await declared(spec)).toMatch(
      /a\(input: \{ id: string, title: string \}\)[^]*b\(input: \{ note\?: string \}\)/,
    );
  });

  test.each([
    ["a name collides", bodyOf(named({ id: { type: "string" } }))],
    ["a body is a list", bodyOf({ type: "array", items: { type: "string" } })],
    ["a body is open", bodyOf(named({ a: {} }, { additionalProperties: { type: "string" } }))],
    ["a body is a choice", bodyOf({ oneOf: [named({ a: {} }), named({ b: {} })] })],
  ])("of all operations have their body apart where %s in one of them", async (_, operation) => {
    const spec = specOf({
      "/a/{id}": { post: { operationId: "a", parameters: [{ name: "id", in: "path" }], ...operation } },
      "/b": { put: { operationId: "b", ...bodyOf(named({ note: { type: "string" } })) } },
    });
    expect(await declared(spec)).toContain("b(input: { body: { note?: string } })");
  });

  const noted = named({ note: { type: "string" }, more: {} }, { required: ["note"] });
  const stamped = named({ at: { type: "string", readOnly: true }, more: {} }, { required: ["at"] });
  test.each([
    ["required where nothing else is said", [jsonOf(noted)], ["note: string, more?: unknown"]],
    ["required in a body that is", [{ ...jsonOf(noted), required: true }], ["note: string, more?: unknown"]],
    ["not required if they are only read", [jsonOf(stamped)], ["more?: unknown"]],
    [
      "apart, in all operations, where one may leave out the whole body alone",
      [{ ...jsonOf(noted), required: false }, jsonOf(noted), jsonOf(stamped)],
      [
        "body?: { note: string, more?: unknown }",
        "body: { note: string, more?: unknown }",
        "body?: { more?: unknown }",
      ],
    ],
  ])("of a body that are required are %s", async (_, bodies, declared) => {
    const paths = bodies.map((requestBody, index) => [`/p${index}`, { post: { requestBody } }]);
    const { tools } = await sourceOf(specOf(Object.fromEntries(paths)));
    const text = declareTools(tools);
    expect(tools).toHaveLength(declared.length);
    for (const fields of declared) expect(text).toContain(`(input: { ${fields} })`);
  });

  test("tell parameters of one name apart by their places", async () => {
    const parameters = ["path", "query", "header"].map((place) => ({
      name: "id",
      in: place,
      schema: { type: "string" },
    }));
    await using server = await served(operationOf({ parameters }, "/x/{id}"));
    await server.call({ path_id: "p", query_id: "q", header_id: "h" });
    expect(server.arrived).toMatchObject([{ url: "/x/p?id=q", headers: { id: "h" } }]);
  });

  test("lack what is only read, and take null where the document does", async () => {
    const schema = named(
      {
        id: { type: "integer", readOnly: true },
        parent: { $ref: "#/components/schemas/made" },
        text: { type: "string", nullable: true, enum: ["open"] },
        owner: { nullable: true, allOf: [{ type: "integer" }] },
      },
      { required: ["id", "text"] },
    );
    const components = { schemas: { made: { type: "string", readOnly: true } } };
    const spec = { ...posting(schema, { components }), openapi: "3.0.0" };
    expect(await declared(spec)).toContain('call(input: { text: "open" | null, owner?: number | null');
  });

  test("have the fields that a body requires and does not describe, once if its path has them", async () => {
    const schema = named({ a: { type: "string" } }, { required: ["a", "gone", "id"] });
    const spec = operationOf(bodyOf(schema), "/x/{id}", "post");
    expect(await declared(spec)).toContain("call(input: { id: string, a: string, gone: unknown })");
  });

  test("name values of their own type, whatever YAML makes of them, and so do results", async () => {
    const schema = { type: "string", enum: [1, true, "no"] };
    const result = answerOf({ type: "object", properties: { v: schema } });
    const spec = operationOf({ parameters: [{ name: "v", in: "query", schema }], ...result });
    const values = 'v?: "1" | "true" | "no"';
    expect(await declared(spec)).toContain(`call(input: { ${values} }): Promise<{ ${values} }>`);
  });

  test("say by which values alternatives are told apart, and what may be null in any version", async () => {
    const kind = (more: object) => named({ kind: { type: "string" }, ...more }, { required: ["kind"] });
    const schemas = { Cat: kind({ lives: { type: "integer", nullable: true } }), Dog: kind({}), Fox: kind({}) };
    const oneOf = Object.keys(schemas).map((name) => ({ $ref: `#/components/schemas/${name}` }));
    const mapping = { cat: "#/components/schemas/Cat", dog: "Dog", hound: "Dog" };
    const discriminator = { propertyName: "kind", mapping };
    const spec = posting({ oneOf, discriminator }, { components: { schemas } });
    const { tools } = await sourceOf(spec);
    const types = [
      '({ kind: string, lives?: number | null /* integer */ } & { kind?: "cat" })',
      '({ kind: string } & { kind?: "dog" | "hound" })',
      "{ kind: string }",
    ];
    expect(declareTools(tools)).toContain(`body: ${types.join(" | ")} }`);
  });

  test("have the parameters of their path, replaced by those of the operation, and those that the path names alone", async () => {
    const parameter = (type: string) => ({ name: "n", in: "query", schema: { type } });
    const spec = specOf({
      "/x/{id}": {
        parameters: [parameter("string")],
        get: { operationId: "call", parameters: [parameter("integer")] },
      },
    });
    expect(await declared(spec)).toContain("call(input: { n?: number /* integer */, id: string })");
  });
});

test("a tool's digest depends on its own operation alone, so executions are taken up whatever else is granted", async () => {
  const schemas = { "a/b": { type: "string" }, a_b: { type: "integer" }, "a b": { type: "boolean" } };
  const references = ["a~1b", "a_b", "a%20b"].map((name) => `#/components/schemas/${name}`);
  const paths = references.map(($ref, index) => [
    `/p${index}`,
    {
      post: { operationId: `op${index}`, ...bodyOf(named({ x: { $ref }, y: { $ref: references[(index + 1) % 3] } })) },
    },
  ]);
  const spec = specOf(Object.fromEntries(paths), { components: { schemas } });
  const all = new Map((await sourceOf(spec)).tools.map((tool) => [tool.name, toolDigest(tool)]));
  for (const wanted of all.keys()) {
    const { tools } = await sourceOf(spec, {}, (name) => (name === wanted ? ALL : undefined));
    expect(tools.map((tool) => [tool.name, toolDigest(tool)])).toEqual([[wanted, all.get(wanted)]]);
  }
  expect(new Set(all.values()).size).toBe(3);
  const { tools } = await sourceOf(spec);
  expect(await takes(tools[0], { x: "text", y: 1 })).toBe(true);
  expect(await takes(tools[2], { x: true, y: "text" })).toBe(true);
  expect(await takes(tools[1], { x: "text", y: true })).toBe(false);
});

describe("schemas that refer to themselves", () => {
  const components = {
    schemas: {
      node: named({
        name: { type: "string" },
        children: { type: "array", items: { $ref: "#/components/schemas/node" } },
      }),
    },
  };
  const reference = { $ref: "#/components/schemas/node" };

  test("are read, checked and declared", async () => {
    const spec = operationOf(
      { ...bodyOf(reference), responses: { 200: { content: { "application/json": { schema: reference } } } } },
      "/x",
      "post",
      { components },
    );
    const made = { name: "a", children: [{ name: "b", children: [] }] };
    await using server = await served(spec, (_, response) => sendJson(response, made));
    expect(declareTools(server.tools)).toContain("children?: unknown[]");
    expect(await server.call({ name: "a", children: [{ name: "b" }] })).toMatchObject({ ok: true });
    expect(await server.call({ name: "a", children: [{ name: 1 }] })).toMatchObject({
      code: "input_invalid",
    });
  });

  test.each<[string, object, object]>([
    ["$recursiveRef", { $recursiveRef: "#" }, { $recursiveAnchor: true }],
    ["$dynamicRef", { $dynamicRef: "#node" }, { $dynamicAnchor: "node" }],
  ])("by %s are not followed, and the source says so", async (_, again, anchor) => {
    const node = named({ name: { type: "string" }, children: { type: "array", items: { anyOf: [again] } } }, anchor);
    const spec = posting(named({ tree: reference }), { components: { schemas: { node } } });
    const { tools, problems } = await sourceOf(spec);
    const tree = { name: "a", children: [{ name: "b", children: [{ name: "c" }] }] };
    expect(await takes(tools[0], { tree })).toBe(true);
    expect(problems).toEqual([expect.stringMatching(/may be anything, because its \$\w+ is a reference that is not/)]);
  });

  test.each([
    ["itself", { a: { $ref: "#/components/schemas/a" } }],
    [
      "itself by a choice",
      { a: { anyOf: [{ $ref: "#/components/schemas/b" }] }, b: { allOf: [{ $ref: "#/components/schemas/a" }] } },
    ],
  ])(
    "without going deeper, by %s, may be anything, and the source says so once for input and result",
    async (_, schemas) => {
      const { requestBody } = bodyOf({ $ref: "#/components/schemas/a" });
      const operation = { requestBody, responses: { 200: requestBody } };
      const spec = operationOf(operation, "/x", "post", { components: { schemas } });
      const { tools, problems } = await sourceOf(spec);
      expect([tools.length, problems]).toEqual([
        1,
        [expect.stringMatching(/^api is not checked as a whole: [ab] refers to itself without going deeper/)],
      ]);
      expect(await takes(tools[0], { body: 1 })).toBe(true);
    },
  );
});

test("what schemas have beyond 5,000 values may be anything, which is told once with the number of tools", async () => {
  const wide = (of: string) =>
    named(Object.fromEntries(Array.from({ length: 4000 }, (_, place) => [`f${place}`, { type: of }])));
  const near = { allOf: ["a", "b", "c"].map((name) => ({ $ref: `#/components/schemas/${name}` })) };
  const components = { schemas: { a: wide("string"), b: wide("string"), c: named({ last: { type: "string" } }) } };
  const paths = Object.fromEntries(
    ["/p", "/q", "/r"].map((path) => [path, path === "/r" ? { get: answerOf(near) } : { post: bodyOf(near) }]),
  );
  const { tools, problems } = await sourceOf(specOf(paths, { components }));
  expect(await takes(tools[0], { body: { f1: 1 } })).toBe(false);
  expect(await takes(tools[0], { body: { last: 1 } })).toBe(true);
  expect(problems).toEqual([
    "api is not checked as a whole: what a tool's input has beyond 5000 values of its schema may be anything (tools: 2).",
    "api is not checked as a whole: what a tool's result has beyond 5000 values of its schema may be anything (tools: 1).",
  ]);
  const { problems: none } = await sourceOf(
    specOf(paths, { components: { schemas: { ...components.schemas, a: true } } }),
  );
  expect(none).toEqual([]);
});

test("files that only the form of a body can have are told, and so are those of its parts", async () => {
  const file = { type: "string", format: "binary" };
  const parts = [named({ a: file, text: {} }), named({ b: { oneOf: [{ type: "array", items: file }] }, c: {} })];
  const form = { schema: { allOf: parts }, encoding: { c: { contentType: "image/png" } } };
  const content = { "application/json": { schema: named({ text: {} }) }, "multipart/form-data": form };
  const { problems } = await sourceOf(operationOf({ requestBody: { content } }, "/x", "post"));
  expect(problems).toEqual(["api.call is sent as application/json, without files of its form: a, b, c."]);
});

test("choices and conditions of one schema hold together, in whatever order the document has them", async () => {
  const words = { anyOf: [{ minLength: 2 }], oneOf: [{ pattern: "^a" }], allOf: [{ maxLength: 3 }] };
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(Object.entries(words), { minLength: 3 }), async (order) => {
      const text = { type: "string", ...Object.fromEntries(order) };
      const { tools } = await sourceOf(posting(named({ text }, { required: ["text"] })));
      const fits = await Promise.all(["ab", "a", "bb", "abcd"].map((given) => takes(tools[0], { text: given })));
      expect(fits).toEqual([true, false, false, false]);
    }),
  );
});

test.each([
  ["(?<x>a+)\\k<x>", "refers back to one of its groups"],
  ["(?i)<x>", "is not an ECMAScript regular expression"],
])("the pattern %j is neither checked nor shown, and the source says so", async (pattern, why) => {
  const spec = posting(named({ a: { type: "string", pattern } }));
  const { tools, problems } = await sourceOf(spec);
  expect(problems).toEqual([`api is not checked as a whole: the pattern ${JSON.stringify(pattern)} ${why}.`]);
  expect(await takes(tools[0], { a: "b" })).toBe(true);
  expect(await takes(tools[0], { a: 1 })).toBe(false);
  expect(declareTools(tools)).not.toContain("<x>");
});

test("an operation behind a reference in the document is read, and one in another file is left out, each by its reason", async () => {
  const tag = { name: "tag", in: "query", schema: { type: "string" } };
  const paths = {
    "/a": { get: { $ref: "a.yml" }, post: { $ref: "#/x-operations/make" } },
    "/b": { $ref: "b.yml" },
    "/c": { $ref: "#/x-items/c", post: { operationId: "beside" } },
    "/d": { put: { $ref: "#/x-operations/none" } },
  };
  const more = { "x-operations": { make: { operationId: "make", parameters: [tag] } }, "x-items": { c: { get: {} } } };
  const { tools, problems } = await sourceOf(specOf(paths, more));
  expect(tools.map(({ name }) => name)).toEqual(["api.make", "api.getC", "api.beside"]);
  expect(declareTools(tools)).toContain("make(input: { tag?: string })");
  expect(problems).toEqual([
    'the path /b is left out: it refers to "b.yml", which is another document; put the files into one, as bundlers do.',
    'api.getA (GET /a) is left out: it refers to "a.yml", which is another document; put the files into one, as bundlers do.',
    'api.putD (PUT /d) is left out: it refers to "#/x-operations/none", which the document does not have.',
  ]);
  await expect(sourceOf(specOf({ "/b": paths["/b"] }))).rejects.toThrow(
    'describes no operations. the path /b is left out: it refers to "b.yml"',
  );
});

describe("what only describes an answer costs the check of that part", () => {
  test.each<[string, object, string, string]>([
    [
      "no schema",
      answerOf(named({ a: "string", b: { type: "integer" } })),
      "{ a?: unknown, b?: number }",
      "where a schema",
    ],
    ["of no type", answerOf(named({ a: { type: "money" } })), "{ a?: unknown }", 'unknown "type"'],
    ["no list", answerOf({ anyOf: { type: "string" } }), "unknown", '"anyOf" that is no list'],
    ["a list", answerOf({ type: "array", items: { properties: ["a"] } }), "unknown[]", "that is no object"],
    [
      "a definition that is missing",
      answerOf(named({ a: { $ref: "#/none" } })),
      "{ a?: unknown }",
      'refers to "#/none"',
    ],
    ["another document", answerOf(named({ a: { $ref: "b.yml" } })), "{ a?: unknown }", 'refers to "b.yml"'],
    ["an answer that is missing", { responses: { 200: { $ref: "#/none" } } }, "unknown", 'refers to "#/none"'],
    [
      "too many parts",
      answerOf({ type: "array", items: { enum: Array.from({ length: 30_000 }, (_, index) => index) } }),
      "unknown",
      "more than 20000 values",
    ],
  ])("%s", async (_, operation, type, why) => {
    for (const checkResults of [true, false]) {
      const { tools, problems } = await sourceOf(operationOf(operation), { checkResults });
      expect(declareTools(tools)).toContain(`api.call(input: {}): Promise<${type}>`);
      expect(problems).toEqual([
        expect.stringMatching(
          /^api\.call is not checked as a whole: a part of its result may be anything, because its? /,
        ),
      ]);
      expect(problems[0]).toContain(why);
    }
  });

  test("and a definition that an input's field lacks, that field's", async () => {
    const spec = posting(named({ a: { $ref: "#/none" }, b: { type: "string" } }));
    const { tools, problems } = await sourceOf(spec);
    expect(declareTools(tools)).toContain("call(input: { a?: unknown, b?: string })");
    expect(problems).toEqual([expect.stringContaining('its input may be anything, because it refers to "#/none"')]);
  });
});

test("a reference in place of all properties is read, and the line of one that leads nowhere says which", async () => {
  const fields = (reference: string) => ({ allOf: [{ type: "object", properties: { $ref: reference } }] });
  const spec = { ...posting(fields("#/ids")), ids: { ids: { type: "string" } } };
  const { tools } = await sourceOf(spec);
  expect(declareTools(tools)).toContain("ids?: string");
  expect(await takes(tools[0], { ids: 1 })).toBe(false);
  const { problems } = await sourceOf(posting(fields("#/none")));
  expect(problems).toEqual([expect.stringContaining('left out: it refers to "#/none"')]);
});

describe("operations that cannot be called are left out with a reason", () => {
  test.each<[string, object, string?, string?]>([
    [
      'refers to "https://evil.example/schema.json", which is another document',
      bodyOf({ $ref: "https://evil.example/schema.json" }),
      "post",
    ],
    ['refers to "b.yml", which is another document', bodyOf(named({ a: { items: { $ref: "b.yml" } } })), "post"],
    ['refers to "#/components/none", which the document does not have', bodyOf({ $ref: "#/components/none" }), "post"],
    ["in no place that a request has", { parameters: [{ name: "a", in: "matrix" }] }],
    ["a parameter without a name", { parameters: [{ in: "query" }] }],
    ["a style that no query has", { parameters: [{ name: "a", in: "query", style: "matrix" }] }],
    ["needs a body, which no GET", { requestBody: { required: true, content: { "application/json": {} } } }],
    ["its method is TRACE", {}, "trace"],
    ["its method is CONNECT", { CONNECT: {} }, "additionalOperations"],
    ["a path begins with /", {}, "get", "x"],
    ["has parts like . or ..", {}, "get", "/a/../x"],
    ["its schema holds 1 where a schema belongs", bodyOf({ type: "array", items: [1] }), "post"],
    ['an unknown "type": "thing"', bodyOf({ type: "thing" }), "post"],
    [
      "it needs the header Referer, which only `headers` of the source may set.",
      { parameters: [{ name: "Referer", in: "header", required: true }] },
    ],
    ["parameter named __proto__", { parameters: [{ name: "__proto__", in: "query" }] }],
    ["which is none", { requestBody: { content: { "text/plain\r\nx: y": {} } } }, "post"],
  ])("%s", async (reason, operation, method = "get", path = "/x") => {
    const spec = specOf({
      [path]: { [method]: { operationId: "call", ...operation } },
      "/fine": { get: { operationId: "fine" } },
    });
    const { tools, problems } = await sourceOf(spec);
    expect(tools.map(({ name }) => name)).toEqual(["api.fine"]);
    expect(problems).toEqual([expect.stringContaining("is left out: ")]);
    expect(problems[0]).toContain(reason);
  });
});

describe("a document", () => {
  const yaml = `
openapi: 3.0.0
info: { title: t, version: "1" }
paths:
  /x:
    get:
      operationId: call
      parameters: [{ name: q, in: query, schema: { type: string } }]
`;
  const swagger = {
    swagger: "2.0",
    info: { title: "t", version: "1" },
    host: "evil.example",
    basePath: "/v9",
    consumes: ["application/json"],
    paths: {
      "/pets/{id}": {
        put: {
          operationId: "updatePet",
          parameters: [
            { name: "id", in: "path", required: true, type: "integer" },
            { name: "tags", in: "query", type: "array", items: { type: "string" }, collectionFormat: "pipes" },
            { name: "pet", in: "body", schema: { $ref: "#/definitions/Pet" } },
          ],
          responses: { 200: { description: "ok", schema: { $ref: "#/definitions/Pet" } } },
        },
      },
    },
    definitions: {
      Pet: { type: "object", properties: { name: { type: "string" }, kind: { type: "string", "x-nullable": true } } },
    },
  };

  test("that names a server of its own for an operation or a path is told which are not asked there", async () => {
    const at = (url: string) => ({ servers: [{ url }] });
    const call = (more = {}) => ({ get: { responses: {}, ...more } });
    const paths = {
      "/a": call(at("https://upload.example/v2")),
      "/b": { ...call(), ...at("https://upload.example/v2") },
      "/c": { ...call(at("https://api.example/")), ...at("https://upload.example/v2") },
      "/d": call(),
    };
    const { tools, problems } = await sourceOf(specOf(paths, at("https://api.example")));
    expect([tools.length, problems]).toEqual([
      4,
      [expect.stringMatching(/^api\.getA and 1 more: .* https:\/\/upload\.example\/v2\. It is called at baseUrl/)],
    ]);
  });

  test("is YAML", async () => {
    expect(await declared(yaml)).toContain("call(input: { q?: string })");
  });

  test("is Swagger 2.0, whose host is not used", async () => {
    const before = JSON.stringify(swagger);
    await using server = await served(swagger, (_, response) => sendJson(response, { name: "Rex", kind: null }));
    expect(JSON.stringify(swagger)).toBe(before);
    expect(declareTools(server.tools)).toContain(
      "updatePet(input: { id: number /* integer */, tags?: string[], name?: string, kind?: string | null }): Promise<{ name?: string, kind?: string | null }>",
    );
    expect(await callTool(server.tools, "api.updatePet", { id: 1, tags: ["a", "b"], name: "Rex" })).toMatchObject({
      ok: true,
    });
    expect(server.arrived).toMatchObject([{ method: "PUT", url: "/pets/1?tags=a|b" }]);
  });

  test("is Swagger 2.0, whose shared bodies and forms are those of the operations that refer to them", async () => {
    const form = "application/x-www-form-urlencoded";
    const post = (consumes: string, ...names: readonly string[]) => ({
      post: {
        consumes: [consumes],
        parameters: names.map((name) => ({ $ref: `#/parameters/${name}` })),
        responses: {},
      },
    });
    const parameters = {
      Pet: { name: "pet", in: "body", required: true, schema: { $ref: "#/definitions/Pet" } },
      Mail: { name: "mail", in: "formData", type: "string" },
      Kind: { name: "kind", in: "formData", type: "string", required: true },
      Tags: { name: "tags", in: "formData", type: "array", items: { type: "string" } },
    };
    const paths = {
      "/pets": post("application/json", "Pet"),
      "/mails": post(form, "Mail", "Tags"),
      "/files": post("multipart/form-data", "Mail", "Kind"),
    };
    await using server = await served({ ...swagger, parameters, paths });
    expect(declareTools(server.tools)).toContain("postFiles(input: { mail?: string, kind: string })");
    expect(await callTool(server.tools, "api.postFiles", { mail: "a@b" })).toMatchObject({ code: "input_invalid" });
    await callTool(server.tools, "api.postPets", { name: "Rex" });
    await callTool(server.tools, "api.postMails", { mail: "a@b", tags: ["x", "y"] });
    expect(server.arrived.map(({ body }) => body.toString())).toEqual(['{"name":"Rex"}', "mail=a%40b&tags=x,y"]);
  });

  test.each<[string, unknown, string]>([
    ["a list", [], "got a list"],
    ["prose", "not a document", "expected an OpenAPI document"],
    ["an address", "https://a.example/api.json", 'give the text, as by readFileSync(path, "utf8").'],
    ["the bytes of a file", Buffer.from("openapi: 3.1.0"), "expected an OpenAPI document"],
    ["JSON that breaks off", '{"openapi": "3.0.0", ', "the text is no JSON"],
    ["YAML that breaks off", "openapi: [", "the text is no YAML"],
    ["another object", { a: 1 }, `neither "openapi" nor "swagger"`],
    ["of another version", { openapi: "4.0.0", paths: {} }, "version 4.0.0"],
    ["without paths", { openapi: "3.1.0" }, "no operations"],
    [
      "of Swagger that is none",
      { swagger: "2.0", paths: { "/x": { get: { parameters: [{ name: "a" }] } } } },
      "does not follow Swagger 2.0",
    ],
    [
      "of Swagger with a field __proto__, which would be lost",
      '{"swagger":"2.0","paths":{"/x":{"get":{}}},"definitions":{"A":{"properties":{"__proto__":{"type":"string"}}}}}',
      "a field named __proto__",
    ],
  ])("that is %s is refused in one sentence", async (_, spec, message) => {
    const rejected: unknown = await sourceOf(spec as object).catch((error: unknown) => error);
    expect(rejected).toMatchObject(failing("source_invalid", message));
    expect((rejected as Error).message).not.toContain("\n");
  });
});

describe("options", () => {
  test.each([
    ["a name that is no identifier", { name: "git hub" }, 'fromOpenApi({ name }): "git hub" is not an identifier'],
    ["an address with a user", { baseUrl: "https://u:p4ssw0rd@api.example.com" }, "fromOpenApi({ baseUrl })"],
    ["an address with a query", { baseUrl: "https://api.example.com?x" }, "fromOpenApi({ baseUrl })"],
    ["an address of two hosts", { baseUrl: "https://a,b" }, "fromOpenApi({ baseUrl })"],
    ["credentials of no kind", { auth: {} }, "got none of them"],
    ["credentials of two kinds", { auth: { bearer: "p4ssw0rd", basic: {} } }, `got "bearer", "basic"`],
    ["a token with a line break", { auth: { bearer: "p4ssw0rd\n" } }, "fromOpenApi({ auth: { bearer } })"],
    ["a key without a place", { auth: { apiKey: { name: "k", value: "p4ssw0rd" } } }, "in"],
    ["a misspelt option", { baseUri: "x" }, "did you mean baseUrl?"],
  ])("with %s are refused, without a secret", async (_, options, message) => {
    const rejected: unknown = await sourceOf(operationOf({}), options as object).catch((error: unknown) => error);
    expect(rejected).toMatchObject(failing("option_invalid", message));
    expect(JSON.stringify(rejected) + String(rejected)).not.toContain("p4ssw0rd");
  });
});
