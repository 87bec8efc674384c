import { expect, test } from "vitest";
import { z } from "zod";
import { PortcullisError } from "../../src/errors.ts";
import { defineTool, type ToolOptions } from "../../src/tools/define-tool.ts";
import { jsonSchemaOf } from "../../src/tools/tool-schemas.ts";
import { jsonSchema, type Schema } from "../../src/tools/schema.ts";

const options = {
  name: "crm.find",
  description: "Finds people",
  input: z.object({ id: z.string() }),
  allowedCallers: ["programmatic"],
  effect: "read",
  handler: () => null,
} as const;

/** The message of the `tool_invalid` that these options are refused with. */
function refusal(changes: Readonly<Record<string, unknown>>): string {
  try {
    const changed: unknown = { ...options, ...changes };
    defineTool(changed as ToolOptions<Schema>);
  } catch (error) {
    expect(PortcullisError.is(error) && error.code).toBe("tool_invalid");
    return (error as Error).message;
  }
  return "none";
}

const A_SCHEMA = "a schema that can give its JSON Schema (zod 4, arktype, or jsonSchema() around a plain one)";
const CALLERS = 'a list of "direct" and "programmatic", at least one';
const EFFECTS = '"read", "idempotent", "write" or a function of the input';
const APPROVALS = '"never", "always" or a function of the input';
const MILLISECONDS = "a whole number from 1 to 2147483647";

test.each<[string, unknown, string, string]>([
  ["description", undefined, "a string that tells the model what the tool does", "undefined"],
  ["description", " \n", "a string that tells the model what the tool does", '" \\n"'],
  ["description", 7, "a string that tells the model what the tool does", "7"],
  ["input", undefined, A_SCHEMA, "undefined"],
  ["input", { type: "object" }, A_SCHEMA, '{"type":"object"}'],
  ["input", { "~standard": null }, A_SCHEMA, '{"~standard":null}'],
  ["input", { "~standard": { validate: () => ({ value: 1 }) } }, A_SCHEMA, '{"~standard":{}}'],
  ["input", z.string(), 'a schema whose JSON Schema has type "object", because tools take named fields', '"string"'],
  [
    "input",
    jsonSchema({}),
    'a schema whose JSON Schema has type "object", because tools take named fields',
    "undefined",
  ],
  [
    "input",
    z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    'a schema whose JSON Schema has type "object", because tools take named fields (put a union into a field of an object)',
    '"anyOf"',
  ],
  ["output", "string", "a schema that can give its JSON Schema, or nothing", '"string"'],
  ["output", null, "a schema that can give its JSON Schema, or nothing", "null"],
  ["allowedCallers", undefined, CALLERS, "undefined"],
  ["allowedCallers", [], CALLERS, "[]"],
  ["allowedCallers", "direct", CALLERS, '"direct"'],
  ["allowedCallers", ["direct", "direct"], CALLERS, '["direct","direct"]'],
  ["allowedCallers", ["program"], CALLERS, '["program"]'],
  ["effect", undefined, EFFECTS, "undefined"],
  ["effect", "reads", EFFECTS, '"reads"'],
  ["approval", 1, APPROVALS, "1"],
  ["approval", "sometimes", APPROVALS, '"sometimes"'],
  ["approval", null, APPROVALS, "null"],
  ["concurrency", 0, "a whole number of at least 1, or Infinity", "0"],
  ["concurrency", 1.5, "a whole number of at least 1, or Infinity", "1.5"],
  ["concurrency", Number.NaN, "a whole number of at least 1, or Infinity", "NaN"],
  ["concurrency", "2", "a whole number of at least 1, or Infinity", '"2"'],
  ["retry", 3, "an object", "3"],
  ["rate", [], "an object", "[]"],
  ["enabled", true, "a function", "true"],
  ["timeoutMs", 0, MILLISECONDS, "0"],
  ["timeoutMs", 2 ** 31, MILLISECONDS, "2147483648"],
  ["timeoutMs", Number.POSITIVE_INFINITY, MILLISECONDS, "Infinity"],
  ["handler", undefined, 'a function, or "client"', "undefined"],
  ["handler", {}, 'a function, or "client"', "{}"],
])("the option `%s` given as %j is refused with what was expected and what came", (option, value, expected, got) => {
  expect(refusal({ [option]: value })).toBe(
    `defineTool({ name: "crm.find", ${option} }): expected ${expected}, got ${got}.`,
  );
});

test.each<[Readonly<Record<string, unknown>>, string]>([
  [{ retry: {} }, "retry: { attempts } }): expected a whole number from 2 to 10, got undefined."],
  [{ retry: { attempts: 1 } }, "retry: { attempts } }): expected a whole number from 2 to 10, got 1."],
  [{ retry: { attempts: 2, delay: 1 } }, 'retry }): there is no option "delay", did you mean delayMs?'],
  [{ retry: { attempts: 2, on: "503" } }, 'retry: { on } }): expected a function, got "503".'],
  [{ rate: { calls: 1 } }, "rate: { perMs } }): expected a whole number from 1 to 2147483647, got undefined."],
  [{ rate: { calls: 0, perMs: 1 } }, "rate: { calls } }): expected a whole number of at least 1, got 0."],
  [
    { retry: { attempts: 2 }, effect: "write" },
    'retry }): calls with the effect "write" are never repeated. Leave retry out, or declare the effect "idempotent" if a repetition changes nothing more.',
  ],
  [
    { retry: { attempts: 2 }, handler: "client" },
    "retry }): calls that a client answers have no handler here. Leave it out.",
  ],
  [
    { rate: { calls: 1, perMs: 1 }, handler: "client" },
    "rate }): calls that a client answers have no handler here. Leave it out.",
  ],
])("%j is refused: %s", (changes, message) => {
  expect(refusal(changes)).toContain(`defineTool({ name: "crm.find", ${message}`);
});

test.each<[unknown, string]>([
  [undefined, "defineTool({ name }): expected a name, got undefined."],
  [42, "defineTool({ name }): expected a name, got 42."],
  ["", 'defineTool({ name }): expected a name, got "".'],
  ["crm.toString", 'Tool "crm.toString": this name cannot be used: "toString" is reserved.'],
])("the name %j is refused in a sentence", (name, message) => {
  expect(refusal({ name })).toBe(message);
});

test.each([
  [undefined, "undefined"],
  [null, "null"],
  [5, "5"],
  ["crm.find", '"crm.find"'],
])("defineTool(%j) is refused in a sentence", (given, got) => {
  expect(() => defineTool(given as unknown as ToolOptions<Schema>)).toThrow(
    expect.objectContaining({
      code: "tool_invalid",
      message: `defineTool(options): expected an object, got ${got}.`,
    }),
  );
});

const NAMED = 'defineTool({ name: "crm.find", … })';

test.each<[string, Readonly<Record<string, unknown>>, string]>([
  ["resumes without stream", { resumes: "after" }, "Set `stream: true`, or leave it out."],
  ["a stream that is repeated", { stream: true, retry: { attempts: 2 } }, "repeat requests in the handler."],
  ["a stream of a client", { stream: true, handler: "client" }, "no handler here that could yield items."],
  [
    "an async generator without stream",
    { async *handler() {} },
    "an async generator yields items one at a time. Set `stream: true`, or return one result.",
  ],
  ["another word for resumes", { stream: true, resumes: "again" }, '"after" or "from-start", got "again"'],
])("%s is refused in a sentence that says what to write", (_, changes, sentence) => {
  const message = refusal(changes);
  expect(message).toMatch(/^defineTool\(\{ name: "crm\.find", \w+ \}\): /);
  expect(message).toContain(sentence);
});

test.each<[string, unknown]>([
  ["an async generator", async function* () {}],
  ["a generator", function* () {}],
  ["a function that returns a list", () => [1]],
  ["an async function that returns a list", async () => [1]],
])("%s may be the handler of a stream", (_, handler) => {
  expect(refusal({ stream: true, handler })).toBe("none");
});

test("an option that does not exist is refused, with the one that was meant where there is one", () => {
  expect(refusal({ efect: "read" })).toContain(`${NAMED}: there is no option "efect", did you mean effect?`);
  expect(refusal({ timeout: 5 })).toContain(`${NAMED}: there is no option "timeout", did you mean timeoutMs?`);
  expect(refusal({ xyzzyx: 1 })).toContain(
    `${NAMED}: there is no option "xyzzyx". The options are name, description, `,
  );
});

test.each<[string, Schema, string]>([
  ["input", z.object({ when: z.date() }), "Date cannot be represented in JSON Schema"],
  ["output", z.bigint(), "BigInt cannot be represented in JSON Schema"],
  ["output", z.string().transform(Number), "Transforms cannot be represented in JSON Schema"],
])("an %s that has no JSON Schema is refused with its library's reason", (option, schema, reason) => {
  expect(refusal({ [option]: schema })).toBe(
    `Tool "crm.find": ${option} has no JSON Schema: ${reason}. The input and output of a tool are JSON.`,
  );
});

test("by default a call needs no approval, calls at once are unlimited, and a handler has a minute", () => {
  const tool = defineTool(options);
  expect(tool).toMatchObject({ approvable: false, concurrency: Number.POSITIVE_INFINITY, timeoutMs: 60_000 });
  expect(tool.output).toBeUndefined();
  expect(tool.needsApproval({})).toBe(false);
});

test("approval is asked always, never, or as a function of the input says", () => {
  expect(defineTool({ ...options, approval: "always" }).needsApproval({})).toBe(true);
  const byInput = defineTool({ ...options, approval: ({ id }) => id === "boss" });
  expect([byInput.approvable, byInput.needsApproval({ id: "boss" }), byInput.needsApproval({ id: "me" })]).toEqual([
    true,
    true,
    false,
  ]);
});

test("a tool does not change after it was defined, nor with the list of callers it was given", () => {
  const allowedCallers: ("direct" | "programmatic")[] = ["direct"];
  const tool = defineTool({ ...options, allowedCallers });
  allowedCallers.push("programmatic");
  expect(tool.allowedCallers).toEqual(["direct"]);
  expect(Object.isFrozen(tool) && Object.isFrozen(tool.allowedCallers)).toBe(true);
});

test("the JSON Schema of an input is what may be sent, that of an output what programs get", () => {
  const schema = z.object({ page: z.number().default(1) });
  expect(jsonSchemaOf("t", "input", schema)).not.toHaveProperty("required");
  expect(jsonSchemaOf("t", "output", schema)).toMatchObject({ required: ["page"] });
});
