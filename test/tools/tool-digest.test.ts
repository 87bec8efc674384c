import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import { toolDigest } from "../../src/tools/tool-digest.ts";

const base = {
  name: "crm.find",
  description: "Finds one.",
  input: z.object({ id: z.string() }),
  allowedCallers: ["programmatic"],
  effect: "read",
  handler: () => "",
} as const;

test("a tool's digest changes with its name and its schemas, and with nothing else", () => {
  const digest = toolDigest(defineTool(base));
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(toolDigest(defineTool({ ...base, description: "Other.", allowedCallers: ["direct"], effect: "write" }))).toBe(
    digest,
  );
  const others = [
    defineTool({ ...base, name: "crm.look" }),
    defineTool({ ...base, input: z.object({ id: z.number() }) }),
    defineTool({ ...base, output: z.string() }),
  ].map(toolDigest);
  expect(new Set([digest, ...others]).size).toBe(4);
});
