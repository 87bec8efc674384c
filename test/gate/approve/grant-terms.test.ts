import { expect, test } from "vitest";
import { z } from "zod";
import { readGrant } from "../../../src/gate/approve/grant-terms.ts";
import { jsonSchema } from "../../../src/tools/schema.ts";

const CALL = JSON.stringify({ amount: 20, to: "ann", lines: [{ "a/b": 1 }], note: null });
const LATER = Date.now() + 60_000;

test("a grant is kept as plain JSON, its schema as text", () => {
  const schema = { type: "object", properties: { to: { const: "ann" } } };
  const terms = { calls: 20, sums: { "/amount": 500 }, untilMs: LATER };
  expect(readGrant("grant", { ...terms, input: schema }, CALL)).toEqual({ ...terms, input: JSON.stringify(schema) });
  expect(readGrant("grant", { input: jsonSchema(schema) }, CALL)).toEqual({ input: JSON.stringify(schema) });
});

test("sums may be of any number of the call, and of a text that may stand for a redacted number", () => {
  const sums = { "/amount": 500, "/lines/0/a~1b": 3, "/to": 1 };
  expect(readGrant("grant", { sums }, CALL)).toEqual({ sums });
});

test.each<[string, unknown, string]>([
  ["none", undefined, "grant: expected an object like"],
  ["a number", 20, "grant: expected an object like"],
  ["an empty one", {}, "at least one of input, calls, sums and untilMs"],
  ["no calls", { calls: 0 }, "grant.calls"],
  ["half a call", { calls: 1.5 }, "grant.calls"],
  ["calls without end", { calls: Number.POSITIVE_INFINITY }, "grant.calls"],
  ["a negative sum", { sums: { "/amount": -1 } }, "grant.sums"],
  ["a sum that is no number", { sums: { "/amount": "500" } }, "grant.sums"],
  ["a sum that is not finite", { sums: { "/amount": Number.NaN } }, "grant.sums"],
  ["sums of nothing", { sums: {} }, "grant.sums"],
  ["a sum of no pointer", { sums: { amount: 500 } }, "grant.sums"],
  ["a sum of a broken pointer", { sums: { "/a~2": 500 } }, "grant.sums"],
  ["a sum of a field that the call does not have", { sums: { "/amuont": 500 } }, 'got "/amuont"'],
  ["a sum of no field of a list", { sums: { "/lines/1/a~1b": 500 } }, "pointers to numbers in the input of the call"],
  ["a sum of what is no number", { calls: 5, sums: { "/amount": 500, "/note": 1 } }, 'got "/note"'],
  ["a list of sums", { sums: [500] }, "grant.sums"],
  ["too many sums", { sums: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`/${n}`, 1])) }, "grant.sums"],
  ["a time that is over", { untilMs: 1 }, "grant.untilMs"],
  ["a time that is none", { untilMs: "18:00" }, "grant.untilMs"],
  ["a misspelt field", { call: 20 }, "did you mean calls?"],
  ["a schema that is none", { input: "object" }, "grant.input"],
  ["a schema that cannot be bounded", { input: { pattern: "^(a+)+\\1$" } }, "grant.input"],
  ["a schema that refers to another place", { input: { $ref: "https://example.com/schema" } }, "grant.input"],
  [
    "a schema that is too large",
    { input: { enum: Array.from({ length: 5000 }, (_, n) => `value ${n}`) } },
    "grant.input",
  ],
  [
    "a schema of a library, whose checks the journal cannot keep",
    { input: z.object({ to: z.string().refine(() => false) }) },
    "cannot keep the schema of a library",
  ],
])("%s is refused", (_, given, message) => {
  expect(() => readGrant("grant", given, CALL)).toThrowError(
    expect.objectContaining({ code: "option_invalid", message: expect.stringContaining(message) as string }),
  );
});
