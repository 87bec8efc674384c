import { expect, test } from "vitest";
import { answerFacts, costText, turnsDone } from "../../../../src/cli/terminal/chat/answer-text.ts";
import { createRuntime, defineTool } from "../../../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../../../src/testing.ts";
import { z } from "zod";

const rows = defineTool({
  name: "rows",
  description: "Rows",
  input: z.object({}),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  handler: () => "x".repeat(1022),
});

const usage = { inputTokens: 1000, outputTokens: 10 };

test("the facts of an answer are those of its own turns, and the cost is that of all", async () => {
  await using runtime = await createRuntime({ tools: [rows], sandbox: createMemorySandbox() });
  const model = scriptedModel([
    { programs: ["return (await tools.rows({})).length + (await tools.rows({})).length"], usage },
    { text: "One.", usage },
    { calls: [{ tool: "rows" }], usage },
    { text: "Two.", usage },
    { text: "Three.", usage },
  ]);
  await using talk = await runtime.converse({ model });
  const one = await talk.say("1");
  expect(answerFacts(one, 0, 20)).toBe(
    "2 KiB (about 512 tokens) returned by tools → 4 B (2 tokens) given to the model\n2 turns, 1 program, 2 calls, 2,000 tokens in, 20 out, 20 ms",
  );
  const two = await talk.say("2");
  expect(answerFacts(two, turnsDone(one), 20)).toMatch(
    /^1 KiB \(about \d+ tokens\) returned by tools → 1 KiB \(\d+ tokens\) given to the model\n2 turns, 1 call, 2,000 tokens in, 20 out, 20 ms$/,
  );
  const three = await talk.say("3");
  expect(answerFacts(three, turnsDone(two), 20)).toBe("1 turn, 0 calls, 1,000 tokens in, 10 out, 20 ms");
  expect(costText(three, "anthropic:claude-haiku-4-5")).toMatch(
    /^3 KiB .*\n5 turns, 1 program, 3 calls, 5,000 tokens in, 50 out\nThey cost at most \$0\.0065 at the list prices of /,
  );
  expect(costText(three, "scripted:constructor")).toContain("has no price of scripted:constructor");
});

test("of a conversation that goes on after one that has ended, only its own turns cost something", async () => {
  await using runtime = await createRuntime({ tools: [rows], sandbox: createMemorySandbox() });
  const model = scriptedModel([
    { calls: [{ tool: "rows" }], usage },
    { text: "One.", usage },
    { text: "Two.", usage },
  ]);
  const first = await runtime.agent({ model, task: "1" });
  await using talk = await runtime.converse({ model, continue: first.execution });
  expect(costText(await talk.say("2"), "m:m")).toMatch(/^1 turn, 0 calls, 1,000 tokens in, 10 out\n/);
});
