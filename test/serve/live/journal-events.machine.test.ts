import { expect, test } from "vitest";
import { JournalEvents } from "../../../src/serve/live/journal-events.ts";
import { header } from "../../journal/records.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { beginCalls, DECISIONS } from "./many-calls.ts";
import { takeRecords } from "./take-records.ts";

const CALLS = 20_000;
/** Of the memory that they take, what is counted at least. */
const LEAST_RATIO = 0.9;

function memory(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test.each(DECISIONS)(
  "what is held of 20,000 calls that are %s is counted with nine tenths of its memory",
  (decision) => {
    const events = new JournalEvents();
    takeRecords([header("e")], events);
    const empty = events.heldBytes;
    const before = memory();
    beginCalls(events, CALLS, decision);
    const taken = memory() - before;
    const counted = events.heldBytes - empty;
    process.stdout.write(`${decision}: ${counted} bytes are counted, ${taken} are taken\n`);
    expect(counted / taken).toBeGreaterThan(LEAST_RATIO);
  },
);
