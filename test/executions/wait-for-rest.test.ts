import { expect, test } from "vitest";
import type { Appended } from "../../src/journal/journal.ts";
import { waitForRest } from "../../src/executions/wait-for-rest.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import type { ExecutionFacts } from "../../src/executions/read-facts.ts";
import { manualClock } from "../support/clock.ts";

const NEVER = new AbortController().signal;
const ENDED = { listed: { execution: "e", state: "ended" } } as unknown as ExecutionFacts;

/** A journal whose notices a test gives, and a reader that counts its readings. */
function watched() {
  const listeners = new Set<(appended: Appended) => void>();
  const journal = {
    ...createMemoryJournal(),
    onAppend: (listener: (appended: Appended) => void) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
  const reader = {
    readings: 0,
    records: 1,
    facts: undefined as ExecutionFacts | undefined,
    read: async () => {
      reader.readings += 1;
      return reader.facts;
    },
  };
  const tell = (appended: Appended) => {
    for (const listener of listeners) listener(appended);
  };
  return { journal, reader, tell, listeners };
}

test("reads once for many appends, and at once when one of them ends the execution", async () => {
  const { journal, reader, tell, listeners } = watched();
  const waiting = waitForRest(journal, "e", reader, NEVER);
  await expect.poll(() => reader.readings).toBe(1);
  for (let head = 2; head < 100; head += 1) tell({ execution: "e", head });
  reader.facts = ENDED;
  tell({ execution: "e", head: 100, ended: true });
  expect(await waiting).toBe(ENDED);
  expect(reader.readings).toBe(2);
  expect(listeners.size).toBe(0);
});

test("reads at once when the driver has given the execution back", async () => {
  const { journal, reader, tell } = watched();
  const waiting = waitForRest(journal, "e", reader, NEVER);
  await expect.poll(() => reader.readings).toBe(1);
  reader.facts = ENDED;
  tell({ execution: "e", head: 2, left: true });
  // Not after the pause that follows an append.
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  expect(reader.readings).toBe(2);
  expect(await waiting).toBe(ENDED);
});

test("reads nothing for appends that it has read, or that are another execution's", async () => {
  const clock = manualClock();
  const { journal, reader, tell } = watched();
  const leaving = new AbortController();
  reader.records = 5;
  const waiting = waitForRest(journal, "e", reader, leaving.signal);
  await expect.poll(() => reader.readings).toBe(1);
  tell({ execution: "e", head: 5, ended: true });
  tell({ execution: "other", head: 50, ended: true });
  await clock.advance(100);
  expect(reader.readings).toBe(1);
  // Notices may have been lost.
  tell({});
  await clock.advance(200);
  expect(reader.readings).toBe(2);
  leaving.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
});
