import * as fc from "fast-check";
import { expect, test } from "vitest";
import { jsonSchema } from "../../../src/tools/schema.ts";
import { toolStub } from "../../../src/tools/search/index.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { tool } from "../../support/tools.ts";
import { runs } from "../../support/all-tests.ts";
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

test.each(["javascript", "python"] as const)("the stub of any tool is one line, and not long: %s", (language) => {
  fc.assert(
    fc.property(tools, (one) => {
      const stub = toolStub(one, language);
      expect(stub).not.toMatch(/[\n\r\u2028\u2029]/);
      expect(stub.length).toBeLessThanOrEqual(1200);
    }),
    { numRuns: runs(300) },
  );
});
