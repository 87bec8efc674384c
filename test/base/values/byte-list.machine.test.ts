import { describe, expect, test } from "vitest";
import { readJson } from "../../../src/serve/http/read-json.ts";
import { ByteList, EventCutter, LineReader } from "../../../src/base/index.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";

/** Whatever holds the bytes of a stream until a message is whole. */
const HOLDERS: readonly (readonly [name: string, open: () => (part: Buffer) => unknown])[] = [
  [
    "a list of bytes",
    () =>
      (
        (list) => (part: Buffer) =>
          list.add(part)
      )(new ByteList()),
  ],
  [
    "a line",
    () =>
      (
        (reader) => (part: Buffer) =>
          reader.push(part)
      )(
        new LineReader(
          () => 1e9,
          () => {},
          () => {},
        ),
      ),
  ],
  [
    "an event",
    () =>
      (
        (cutter) => (part: Buffer) =>
          cutter.push(part)
      )(new EventCutter()),
  ],
];

test("a body of a client that comes byte by byte takes little more memory than its bytes", async () => {
  const bytes = 300_000;
  let left = bytes;
  let most = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        left -= 1;
        if (left === 0) collectGarbage();
        most = Math.max(most, left === 0 ? memory() : 0);
        controller.enqueue(Buffer.from(left === 0 ? "1" : " "));
        if (left === 0) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body, duplex: "half" };
  const asked = new Request("http://localhost", init);
  collectGarbage();
  const before = memory();
  expect(await readJson(asked, { most: bytes, reader: { tenant: "", hold: () => () => {} } })).toMatchObject({
    value: 1,
    bytes,
  });
  expect(most - before).toBeLessThan(5 * bytes);
});

describe.each(HOLDERS)("%s", (_, open) => {
  test("that comes byte by byte takes little more memory than its bytes", () => {
    const bytes = 1_000_000;
    const [push, one] = [open(), Buffer.from("a")];
    collectGarbage();
    const before = memory();
    for (let count = 0; count < bytes; count += 1) push(one);
    collectGarbage();
    // Held part by part it takes a hundred times as much.
    expect(memory() - before).toBeLessThan(5 * bytes);
    push(one);
  });
});

function memory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
