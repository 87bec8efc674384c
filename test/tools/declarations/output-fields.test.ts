import { expect, test } from "vitest";
import { missingFieldAdvice } from "../../../src/tools/declarations/output-fields.ts";
import { jsonSchema } from "../../../src/tools/schema.ts";
import { makeTool } from "../../support/tools.ts";

function toolOf(name: string, fields: readonly string[]) {
  const properties = Object.fromEntries(fields.map((field) => [field, { type: "string" }]));
  return makeTool({ name, outputSchema: jsonSchema({ type: "object", properties }) });
}

test("a program that reads a stream is told of the fields of an item", () => {
  const tickets = { ...toolOf("tickets", ["id"]), stream: true } as const;
  expect(missingFieldAdvice("ids", [tickets])).toMatch(/item .*"id"/);
  expect(missingFieldAdvice("owner", [tickets])).toMatch(/item .*"id"/);
});

test("nothing is said of the fields of a schema that is too large to be read to its end", () => {
  const fields = Array.from({ length: 3000 }, (_, index) => `field${index}`);
  expect(missingFieldAdvice("items", [toolOf("wide", fields)])).toBeUndefined();
});

test("of long names only the beginning is told", () => {
  const long = Array.from({ length: 8 }, (_, n) => `${n}${"x".repeat(100_000)}`);
  expect(missingFieldAdvice("items", [toolOf("long", long)])?.length).toBeLessThan(800);
  expect(missingFieldAdvice("i".repeat(100_000), [toolOf("short", ["id"])])?.length).toBeLessThan(200);
  const near = `${"x".repeat(200)}y`;
  expect(missingFieldAdvice("x".repeat(200), [toolOf("near", [near])])).toMatch(/Did you mean "x{60,64}…"/);
});
