import { expect, test } from "vitest";
import { readJsonBody } from "../../../src/serve/http/read-json.ts";
import { ByteList, EventCutter, LineReader } from "../../../src/base/index.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";

const ignore = () => {};
/** Whatever holds the bytes of a stream until a message is whole. */
const HOLDERS: Readonly<Record<string, { push: (part: Buffer) => unknown }>> = {
  "a list of bytes": { push: ByteList.prototype.add.bind(new ByteList()) },
  "a line": new LineReader(() => 1e9, ignore, ignore),
  "an event": new EventCutter(),
};

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
  expect(await readJsonBody(asked, { most: bytes, reader: { tenant: "", hold: () => () => {} } })).toMatchObject({
    value: 1,
    bytes,
  });
  expect(most - before).toBeLessThan(5 * bytes);
});

test.each(Object.entries(HOLDERS))("%s that comes byte by byte takes little more memory than its bytes", (_, held) => {
  const bytes = 1_000_000;
  const one = Buffer.from("a");
  collectGarbage();
  const before = memory();
  for (let count = 0; count < bytes; count += 1) held.push(one);
  collectGarbage();
  // Held part by part it takes a hundred times as much.
  expect(memory() - before).toBeLessThan(5 * bytes);
  held.push(one);
});

function memory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
