import { expect, test } from "vitest";
import { savedText } from "../../../../src/cli/terminal/chat/saved-text.ts";
import { createRuntime } from "../../../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../../../src/testing.ts";
import type { ConversationView } from "../../../../src/views/view.ts";
import { viewExecution } from "../../../../src/views/view-execution.ts";

test("a saved conversation has what was said, each program in a fence that it cannot close, and no character that steers a terminal", async () => {
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  const program = "// ```\n// ````\nreturn '\u202e';";
  const model = scriptedModel([{ text: "I run.", programs: [program] }, { text: "Done \u001b[2J." }]);
  await using talk = await runtime.converse({ model, programs: "local" });
  await talk.say("Go.");
  const whole = { each: Number.MAX_SAFE_INTEGER, all: Number.MAX_SAFE_INTEGER };
  const saved = savedText((await viewExecution(runtime.journal, talk.execution, whole)) as ConversationView);
  expect(saved).toContain("## You\n\nGo.\n\n## Model\n\nI run.\n\n`````js\n// ```\n// ````\n");
  expect(saved).toContain(String.raw`Done \u001b[2J.`);
  expect(saved).not.toMatch(/[\u001b\u202e]/);
});
