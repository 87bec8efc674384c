import { test } from "vitest";
import { z } from "zod";
import { defineTool, jsonSchema } from "portcullis";
import { declareTools } from "../../src/tools/declarations/declarations.ts";
import { missingFieldAdvice } from "../../src/tools/declarations/output-fields.ts";
import { holdSentences } from "../support/sentences.ts";

const object = jsonSchema({ type: "object" });
const TOOL = {
  name: "crm.find",
  description: "d",
  inputSchema: object,
  allowedCallers: ["programmatic"],
  effect: "read",
};
const define = (changes: object) => defineTool({ ...TOOL, execute: () => null, ...changes } as never);
const retry = { attempts: 2 };

/** Options that no tool may have, each refused for another reason. */
const REFUSED: readonly object[] = [
  { name: undefined },
  { name: "" },
  { name: "crm.toString" },
  { name: "search_tools" },
  { description: " \n" },
  ...[undefined, { type: "object" }, { "~standard": null }, z.string(), z.date(), z.object({ when: z.date() })].map(
    (inputSchema) => ({ inputSchema }),
  ),
  { inputSchema: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]) },
  ...["string", null, z.bigint(), z.string().transform(Number)].map((outputSchema) => ({ outputSchema })),
  ...[undefined, [], ["direct", "direct"], ["program"]].map((allowedCallers) => ({ allowedCallers })),
  { effect: "reads" },
  { approval: "sometimes" },
  ...[0, 1.5, Number.NaN, "2"].map((concurrency) => ({ concurrency })),
  ...[0, 2 ** 31, Number.POSITIVE_INFINITY].map((timeoutMs) => ({ timeoutMs })),
  { enabled: true },
  { execute: undefined },
  ...[3, {}, { attempts: 1 }, { ...retry, delay: 1 }, { ...retry, on: "503" }].map((given) => ({ retry: given })),
  ...[[], { calls: 1 }, { calls: 0, perMs: 1 }].map((rate) => ({ rate })),
  { retry, effect: "write" },
  { retry, execute: "client" },
  { rate: { calls: 1, perMs: 1 }, execute: "client" },
  { resumes: "after" },
  { stream: true, resumes: "again" },
  { stream: true, retry },
  { stream: true, execute: "client" },
  { async *execute() {} },
  { efect: "read" },
  { timeout: 5 },
  { xyzzyx: 1 },
];

const tickets = define({
  name: "tickets",
  outputSchema: jsonSchema({ type: "object", properties: { id: {}, next: {} } }),
});

test("each definition that is refused has a code and one sentence, and so has what is left out of stubs", () =>
  holdSentences([
    ...REFUSED.map((changes) => () => define(changes)),
    () => defineTool(undefined as never),
    ...["object", [], { $ref: "#/nope" }, { allOf: [{ $ref: "https://example.com/s" }] }].map(
      (schema) => () => jsonSchema(schema as never),
    ),
    declareTools([tickets], { budgetTokens: 1 }),
    missingFieldAdvice("items", [tickets]),
    missingFieldAdvice("ids", [tickets]),
    missingFieldAdvice("ids", [{ ...tickets, stream: true }]),
  ]));
