import { expect, test } from "vitest";
import { createRuntime } from "../../../../src/index.ts";
import { createMemoryJournal } from "../../../../src/journal/index.ts";
import { readHeader } from "../../../../src/journal/reading/read-records.ts";
import { createMemorySandbox, scriptedModel } from "../../../../src/runtime/testing.ts";
import { listView } from "../../../../src/serve/views/list/list-view.ts";
import { titleIn } from "../../../../src/serve/views/parts/first-message.ts";
import { viewExecution } from "../../../../src/serve/views/view-execution.ts";
import type { ConversationHeader } from "../../../../src/journal/record.ts";

const image = { type: "image", mediaType: "image/png", data: "AAAA", name: "a.png" } as const;

test.each([
  ["text", "\nHow many are late?\nBe quick.", "How many are late?"],
  ["parts", [image, { type: "text", text: "What is it?" } as const], "(image a.png)"],
])("a conversation is called by the first message of its user wherever it is shown: %s", async (_, said, title) => {
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({ tools: [], journal, sandbox: createMemorySandbox() });
  const model = scriptedModel([{ text: "One." }, { text: "Two." }]);
  await using talk = await runtime.conversation({ model });
  await talk.send(said);
  await talk.send("And now?");
  const { id: execution } = talk;
  const header = (await readHeader(journal, execution, { tenant: "" })) as ConversationHeader;
  const { executions } = await listView(journal, { text: title.slice(1).toUpperCase() }, () => true);
  expect(executions.map((row) => row.title)).toEqual([title]);
  expect((await viewExecution(journal, execution)).title).toBe(title);
  expect(await titleIn(journal, header)).toBe(title);
});
