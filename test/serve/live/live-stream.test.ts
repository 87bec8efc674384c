import { createMemoryJournal } from "portcullis/journal";
import { expect, test } from "vitest";
import { journalWatch } from "../../../src/serve/live/journal-watch.ts";
import { type LiveReader, liveStream } from "../../../src/serve/live/live-stream.ts";

/** A stream whose reader gives these texts, one a step, and rests after each. */
function open(texts: readonly string[], restMs: number) {
  const left = [...texts];
  const asked = { count: 0 };
  const watch = journalWatch(createMemoryJournal());
  const closing = new AbortController();
  const reader: LiveReader = async () => {
    asked.count += 1;
    watch.wake("e");
    const text = left.shift() ?? "";
    return { text, heldBytes: 0, positions: new Map([["e", 0]]), isAtEnd: true, isOver: left.length === 0, restMs };
  };
  const stream = liveStream(
    {
      watch,
      execution: "e",
      allowed: new AbortController().signal,
      inTurn: (read) => read(),
      hold: () => {},
      signal: closing.signal,
      onError: () => {},
    },
    reader,
  );
  return { stream, asked, closing, watch };
}

test("a reader is not asked again during its rest, though there are records, and a stream that rests ends at once when the server closes", async () => {
  const { stream, asked, closing, watch } = open(["a", "b"], 3_600_000);
  const reader = stream.getReader();
  await reader.read();
  await reader.read();
  const rest = reader.read();
  watch.wake("e");
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked.count).toBe(1);
  closing.abort();
  expect((await rest).done).toBe(true);
  expect(asked.count).toBe(1);
  watch[Symbol.dispose]();
});
