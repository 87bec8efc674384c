import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool } from "../src/index.ts";

test("a program's calls reach the handlers, and only what it returns comes back", async () => {
  const double = defineTool({
    name: "math.double",
    description: "Twice a number",
    input: z.object({ value: z.number() }),
    output: z.object({ value: z.number() }),
    allowedCallers: ["programmatic"],
    effect: "read",
    handler: ({ value }) => ({ value: value * 2 }),
  });
  await using runtime = await createRuntime({ tools: [double] });
  const report = await runtime.execute("const { value } = await tools.math.double({ value: 21 });\nreturn { value };");
  expect(report.outcome).toEqual({ type: "completed", value: { value: 42 } });
  expect(report.output).toEqual({ text: '{"value":42}', isError: false });
});
