import { expect, test } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel } from "../../../src/runtime/testing.ts";
import { counted } from "../../models/provider.suite.ts";

test("calls that their turn did not allow are not made: each gets the reason as its result, and is journalled as refused", async () => {
  const f = counted("f", { allowedCallers: ["direct", "programmatic"] });
  const forbidden = "This turn allowed no calls.";
  const model = scriptedModel([
    {
      calls: [
        { type: "tool_call", id: "c1", tool: "f", caller: "direct", inputText: '{"k":1}', forbidden },
        { type: "program_call", id: "c2", source: "return tools.f({ k: 2 });", forbidden },
      ],
    },
    ({ results }) => ({ text: results.map(({ text, isError }) => `${isError} ${text}`).join("\n") }),
  ]);
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({ tools: [f.tool], sandbox: createMemorySandbox(), journal });
  const { ending, execution } = await runtime.agent({ model, task: "Do it.", programs: "local" });
  expect(ending).toEqual({ type: "answered", answer: `true ${forbidden}\ntrue ${forbidden}` });
  expect(f.inputs).toEqual([]);
  const records = await Array.fromAsync(journal.read(execution));
  expect(records.filter(({ type }) => type === "call")).toMatchObject([{ call: "c1", decision: "refused" }]);
});
