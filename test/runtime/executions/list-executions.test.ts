import { expect, test } from "vitest";
import { createMemoryJournal } from "../../../src/journal/memory-journal.ts";
import { PortcullisError } from "../../../src/base/index.ts";
import type { Journal, ReadOptions } from "../../../src/journal/journal.ts";
import type { JournalRecord } from "../../../src/journal/record.ts";
import { listExecutions } from "../../../src/runtime/executions/list-executions.ts";
import { header, outcome, turn } from "../../journal/records.ts";

const start =
  '{"kind":"start","protocol":1,"now":1,"seed":"00","limits":{"calls":1,"logBytes":1,"printedBytes":1,"frameBytes":1}}\n{}';
const held = (input: string): readonly JournalRecord[] => [
  turn('{"kind":"fire","now":1,"id":9}', `{"kind":"call","id":1,"tool":"pay"}\n${input}`),
  { type: "call", call: "1", tool: "pay", caller: "programmatic", decision: "held", inputDigest: "", at: 1 },
];

test("an execution whose records cannot be read is listed as that, and hides no other", async () => {
  const journal = createMemoryJournal();
  for (const [execution, records] of [
    ["waits", held("{}")],
    ["no-json", held("{")],
    ["no-frame", [turn(start, "not a frame")]],
    ["no-event", [turn("not a frame")]],
  ] as const) {
    await journal.create(header(execution));
    await journal.append(execution, 1, records);
  }
  const listed = await Array.fromAsync(listExecutions(journal), ({ execution: id, state, waitsFor }) => [
    id,
    state,
    ...waitsFor,
  ]);
  expect(listed.toReversed()).toEqual([
    ["waits", "waiting", "pay"],
    ["no-json", "unreadable"],
    ["no-frame", "unreadable"],
    ["no-event", "unreadable"],
  ]);
});

test("an ended execution whose last record cannot be read is listed as unreadable, and hides no other", async () => {
  const journal = createMemoryJournal();
  for (const id of ["first", "broken", "last"]) {
    await journal.create(header(id));
    await journal.append(id, 1, [outcome]);
  }
  const wrong: Journal = Object.create(journal, {
    read: {
      value: (id: string, options?: ReadOptions) => {
        if (id === "broken") throw new PortcullisError("journal_corrupt", "record 9 is missing");
        return journal.read(id, options);
      },
    },
    list: { value: () => journal.list() },
  }) as Journal;
  const listed = await Array.fromAsync(listExecutions(wrong), (one) => [one.execution, one.state, one.outcome]);
  expect(listed).toEqual([
    ["last", "ended", "completed"],
    ["broken", "ended", "unreadable"],
    ["first", "ended", "completed"],
  ]);
});
