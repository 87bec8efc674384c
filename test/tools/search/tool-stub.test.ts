import { execFileSync } from "node:child_process";
import amaro from "amaro";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { jsonSchema } from "../../../src/tools/schema.ts";
import { toolStub } from "../../../src/tools/search/tool-stub.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { PYTHON } from "../../support/python-process-sandbox.ts";
import { tool } from "../../support/tools.ts";
import { catalogueTools } from "./catalogue-tools.ts";
import { runs, testOfAll } from "../../support/all-tests.ts";
import { anyCharacter } from "../../support/any-character.ts";

const ODD_TEXTS = ["*/ x", "a\nb", '"', "\\", "…", "`${x}`", "\u2028", "'''", "#", "from", "class", "名"];
const text = fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ unit: anyCharacter }));

/** Schemas as servers write them, with odd names and texts. */
const schemas = fc.letrec<{ readonly schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.record({ type: fc.constantFrom("string", "integer", "number", "boolean", "null"), description: text }),
    fc.record({
      enum: fc.array(fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)), { minLength: 1, maxLength: 30 }),
    }),
    fc.record({ const: fc.oneof(text, fc.jsonValue()) }),
    fc.record({ type: fc.constant("string"), pattern: text, default: text, format: text }),
    fc.record({ type: fc.constant("array"), items: tie("schema") }),
    fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
    fc.record({
      type: fc.constant("object"),
      properties: fc.dictionary(text, tie("schema"), { maxKeys: 4 }),
      additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
    }),
  ),
}));

const tools = fc
  .record({
    name: fc.constantFrom("crm.find", "mail.from", "a.delete", "class", "x.await.in"),
    properties: fc.dictionary(text, schemas.schema, { maxKeys: 4 }),
    output: fc.option(schemas.schema),
    stream: fc.boolean(),
  })
  .map(({ name, properties, output, stream }): Tool => {
    const given = (schema: object) => ({ ...OPEN, "~standard": { ...OPEN["~standard"], jsonSchema: both(schema) } });
    return {
      ...tool("t", () => null),
      name,
      inputSchema: given({ type: "object", properties }) as Tool["inputSchema"],
      outputSchema: output === null ? undefined : (given(output) as Tool["inputSchema"]),
      unknownFields: "allow",
      ...(stream ? { stream } : {}),
    };
  });
const OPEN = jsonSchema({ type: "object" });
const both = (schema: object) => ({ input: () => schema, output: () => schema });

test("the stub of any tool is one line of TypeScript that parses", () => {
  fc.assert(
    fc.property(tools, (one) => {
      const stub = toolStub(one, "javascript");
      expect(stub).not.toMatch(/[\n\r\u2028\u2029]/);
      expect(stub.length).toBeLessThanOrEqual(1200);
      amaro.transformSync(stub, { mode: "strip-only" });
    }),
    { numRuns: runs(300) },
  );
});

test.skipIf(PYTHON.missing)("the stub of any tool is one line of Python that parses", () => {
  const stubs = fc.sample(tools, runs(1000)).map((one) => toolStub(one, "python"));
  expect(refusedByPython(stubs)).toEqual([]);
  expect(stubs.filter((stub) => /[\n\r]/.test(stub))).toEqual([]);
});

testOfAll("the stubs of 4,000 tools parse", () => {
  const stubs = catalogueTools().map((one) => toolStub(one, "javascript"));
  expect(() => amaro.transformSync(stubs.join(";\n"), { mode: "strip-only" })).not.toThrow();
  if (!PYTHON.missing) expect(refusedByPython(catalogueTools().map((one) => toolStub(one, "python")))).toEqual([]);
});

test("a stub says the types of fields and results, and what the fields are about", () => {
  const one: Tool = {
    ...tool("crm.find", () => null),
    inputSchema: jsonSchema({
      type: "object",
      properties: {
        id: { type: "integer", minimum: 1, description: "the customer's number" },
        sort: { enum: Array.from({ length: 20 }, (_, place) => `by${place}`) },
      },
      required: ["id"],
    }),
    outputSchema: jsonSchema({ type: "object", properties: { name: { type: "string" } }, required: ["name"] }),
  };
  const literals = Array.from({ length: 16 }, (_, place) => `"by${place}"`);
  expect(toolStub(one, "javascript")).toBe(
    `tools.crm.find as (input: { id: number /* integer, >= 1; the customer's number */, sort?: ${literals.join(" | ")} /* and 4 more */ }) => Promise<{ name: string }>`,
  );
  expect(toolStub(one, "python")).toBe(
    `result: {"name": str} = await tools.crm.find(id=Annotated[int, ">= 1; the customer's number"], sort=NotRequired[Literal[${literals.join(", ")}, ...]])`,
  );
});

test("the stub of a tool that streams says that items come, and of what type", () => {
  const one: Tool = {
    ...tool("crm.each", () => []),
    inputSchema: jsonSchema({ type: "object", properties: { since: { type: "string" } }, required: ["since"] }),
    outputSchema: jsonSchema({ type: "object", properties: { name: { type: "string" } }, required: ["name"] }),
    stream: true,
  };
  expect(toolStub(one, "javascript")).toBe(
    "tools.crm.each as (input: { since: string }) => AsyncIterable<{ name: string }>",
  );
  expect(toolStub(one, "python")).toBe('items: AsyncIterator[{"name": str}] = tools.crm.each(since=str)');
});

/** The stubs that Python does not parse. */
function refusedByPython(stubs: readonly string[]): readonly string[] {
  const check = `
import ast, json, sys
refused = []
for stub in json.load(sys.stdin):
    try:
        ast.parse(stub)
    except SyntaxError as error:
        refused.append(f"{error}: {stub}")
print(json.dumps(refused))`;
  const told = execFileSync(PYTHON.path, ["-c", check], {
    input: JSON.stringify(stubs),
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(told) as readonly string[];
}
