import { setImmediate } from "node:timers/promises";
import { createMemoryJournal } from "portcullis/journal";
import { expect, test } from "vitest";
import { journalWatch } from "../../../src/serve/live/journal-watch.ts";
import { type LiveReader, liveStream } from "../../../src/serve/live/live-stream.ts";

test("a reader rests between its steps, whatever comes meanwhile, and its rest ends with the server", async () => {
  using watch = journalWatch(createMemoryJournal());
  const [closing, allowed] = [new AbortController(), new AbortController().signal];
  let steps = 0;
  const reader: LiveReader = async () => {
    steps += 1;
    watch.wake("e");
    const positions = new Map([["e", 0]]);
    return { text: "a", heldBytes: 0, positions, isAtEnd: true, isOver: false, restMs: 3_600_000 };
  };
  const parts = { watch, execution: "e", allowed, signal: closing.signal, hold: () => {}, onError: () => {} };
  const stream = liveStream({ ...parts, inTurn: (read) => read() }, reader).getReader();
  for (let read = 0; read < 2; read += 1) await stream.read();
  const rest = stream.read();
  await setImmediate();
  closing.abort();
  expect([(await rest).done, steps]).toEqual([true, 1]);
});
