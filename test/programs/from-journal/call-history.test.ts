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

test("a stream that its program left has ended with what was given, also if no record tells so", async () => {
  const frames = (id: number) => [
    turn(
      frameText({ kind: "fire", now: AT, id: 90 + id }),
      frameText({ kind: "call", id, tool: "crm.find", body: "{}" }),
    ),
  ];
  const items = frameText({ kind: "items", now: AT + 5, id: 1, count: 2, bytes: 5, body: "[1,2]" });
  const cancel = (id: number) => frameText({ kind: "cancel", id });
  const records = [
    ...frames(1),
    ...frames(2),
    turn(items, cancel(1)),
    turn(frameText({ kind: "fire", now: AT + 9, id: 99 }), cancel(2)),
  ];
  const common = { tool: "crm.find", caller: "programmatic", started: false } as const;
  const { lines, state } = await readPast([header("one"), ...records]);
  expect(lines).toEqual([
    {
      ...common,
      callId: "1",
      ms: 5,
      bytes: 5,
      items: 2,
      outcome: { type: "value", shape: "stream of 2, not read to its end" },
    },
    { ...common, callId: "2", ms: 9, bytes: 0, outcome: { type: "aborted" } },
  ]);
  expect(state.calls.size).toBe(0);
  const journal = createMemoryJournal();
  await journal.create(header("one"));
  await journal.append("one", 1, records);
  const { calls } = await viewExecution(journal, "one");
  expect(calls).toMatchObject([
    { id: "1", state: "value", ms: 5, items: 2, bytes: 5 },
    { id: "2", state: "aborted", ms: 9 },
  ]);
  // The record of the end, if the driver lived to write it, tells more.
  const answered = {
    type: "answered",
    call: "1",
    ok: false,
    code: "handler_failed",
    ms: 7,
    bytes: 5,
    items: 2,
  } as const;
  const told = await readPast([header("one"), ...records, { ...answered, at: AT + 9 }]);
  expect(told.lines.find(({ callId }) => callId === "1")).toMatchObject({
    ms: 7,
    outcome: { type: "failed", code: "handler_failed" },
  });
});
