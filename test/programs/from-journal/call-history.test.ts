import { expect, test } from "vitest";
import { answerText, frameText } from "../../../bridge/frames.ts";
import { createMemoryJournal } from "../../../src/journal/memory-journal.ts";
import { readPast } from "../../../src/programs/from-journal/past-execution.ts";
import { viewExecution } from "../../../src/views/view-execution.ts";
import { header, turn } from "../../journal/records.ts";

const AT = 1_700_000_000_000;

test.each([
  ["handler_failed", { type: "failed", code: "handler_failed" }],
  ["budget_spent", { type: "refused", code: "budget_spent" }],
  ["of another version", { type: "aborted" }],
  [undefined, { type: "aborted" }],
])("a call whose end no record tells has ended by the code that its program was given: %s", async (code, outcome) => {
  const call = frameText({ kind: "call", id: 1, tool: "crm.find", body: "{}" });
  const body = JSON.stringify({ ...(code === undefined ? {} : { code }), tool: "crm.find", message: "No." });
  const begun = header("one");
  const records = [turn(frameText({ kind: "fire", now: AT, id: 99 }), call), turn(answerText(AT + 30, 1, false, body))];
  const { lines } = await readPast([begun, ...records]);
  expect(lines).toEqual([
    { callId: "1", tool: "crm.find", caller: "programmatic", started: false, bytes: 0, ms: 30, outcome },
  ]);
  const journal = createMemoryJournal();
  await journal.create(begun);
  await journal.append("one", 1, records);
  const { calls } = await viewExecution(journal, "one");
  expect(calls).toMatchObject([{ id: "1", state: outcome.type, ms: 30, result: { text: "No." } }]);
});
