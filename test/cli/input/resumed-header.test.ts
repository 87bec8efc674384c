import { expect, test } from "vitest";
import { readResumedHeader } from "../../../src/cli/input/resumed-header.ts";
import { createMemoryJournal } from "../../../src/journal/memory-journal.ts";
import { header } from "../../journal/records.ts";

test("a program of a conversation goes on with the conversation, and one whose conversation is gone by itself", async () => {
  const journal = createMemoryJournal();
  const lease = { driver: "00000000-0000-4000-8000-000000000000", until: 0 };
  await journal.create(header("whole"), lease);
  await journal.create(header("part", { parent: { execution: "whole", call: "call-1" } }), lease);
  await journal.create(header("orphan", { parent: { execution: "gone", call: "call-1" } }), lease);
  const resumed = async (execution: string) => (await readResumedHeader(journal, execution))?.execution;
  expect([await resumed("whole"), await resumed("part"), await resumed("orphan")]).toEqual([
    "whole",
    "whole",
    "orphan",
  ]);
});
