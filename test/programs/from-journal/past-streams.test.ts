import { expect, test } from "vitest";
import { ItemsDigest } from "../../../src/gate/streams/past-items.ts";
import type { OpenCall } from "../../../src/programs/from-journal/execution-state.ts";
import { PastStreams } from "../../../src/programs/from-journal/past-streams.ts";

const items = (id: number, body: string | undefined) =>
  ({ kind: "items", now: 1, id, count: 1, bytes: 3, ...(body === undefined ? {} : { body }) }) as const;
const open = (id: number): OpenCall => ({
  id,
  tool: "t",
  inputText: "{}",
  streamed: { items: 3, bytes: 9, batches: 2, asked: 1 },
});

test("an open stream has its last item and a digest of all its items, whatever other streams gave", () => {
  const past = new PastStreams();
  past.take(items(1, '[1,{"a":[2]}]'));
  past.take(items(2, "[9]"));
  past.take(items(1, '["last"]'));
  const calls = new Map([[1, open(1)]]);
  past.complete(calls);
  const digest = new ItemsDigest();
  for (const item of ["1", '{"a":[2]}', '"last"']) digest.add(item);
  expect(calls.get(1)?.streamed).toEqual({
    items: 3,
    bytes: 9,
    batches: 2,
    asked: 1,
    last: '"last"',
    digest: digest.hex,
  });
});

test("a stream whose batches the journal does not hold has no last item", () => {
  const past = new PastStreams();
  past.take(items(1, "[1]"));
  past.take(items(1, undefined));
  past.take(items(1, "[3]"));
  const calls = new Map([[1, open(1)]]);
  past.complete(calls);
  expect(calls.get(1)?.streamed).toEqual({ items: 3, bytes: 9, batches: 2, asked: 1 });
});
