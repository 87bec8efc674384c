import { defineTool } from "portcullis";
import { expect, test } from "vitest";
import { z } from "zod";
import { toolFacts } from "../../src/tools/tool-facts.ts";

const base = {
  name: "pay",
  description: "pays",
  input: z.object({}),
  allowedCallers: ["direct"],
  handler: () => 1,
} as const;

test("lists say of a tool whether its effect and its approval depend on the input", () => {
  const facts = (more: Pick<Parameters<typeof defineTool>[0], "effect" | "approval">) =>
    toolFacts(defineTool({ ...base, ...more }));
  expect(facts({ effect: "read" })).toEqual({
    name: "pay",
    callers: ["direct"],
    effect: "read",
    approval: "never",
    place: "here",
  });
  expect(facts({ effect: "write", approval: "always" })).toMatchObject({ effect: "write", approval: "always" });
  expect(facts({ effect: () => "read", approval: () => true })).toMatchObject({
    effect: "by input",
    approval: "by input",
  });
});
