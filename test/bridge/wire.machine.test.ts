import { expect, test } from "vitest";
import { FrameDecoder } from "../../bridge/wire.ts";

const BYTES = 1_000_000;
/** Of the bytes of the frame. */
const RATIO = 50;

test("a frame that arrives byte by byte takes no more memory than it has bytes", () => {
  const decoder = new FrameDecoder(4_000_000);
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(BYTES);
  decoder.push(prefix);
  const before = process.memoryUsage().heapUsed;
  for (let bytes = 0; bytes < BYTES - 1; bytes += 1) decoder.push(Buffer.from("x"));
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(RATIO * BYTES);
  expect(decoder.push(Buffer.from("y"))).toEqual([`${"x".repeat(BYTES - 1)}y`]);
});
