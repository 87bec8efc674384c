import * as fc from "fast-check";
import { expect, test } from "vitest";
import { encodeFrames, FrameDecoder } from "../../bridge/wire.ts";
import { anyCharacter } from "../support/any-character.ts";

const MEBIBYTE = 1024 * 1024;

/** Text of every kind: `unit: anyCharacter` reaches all of Unicode, so most characters have more than one byte. */
const frameTexts = fc.array(fc.oneof(fc.string(), fc.string({ unit: anyCharacter })), { maxLength: 12 });

/** Cuts bytes into consecutive chunks at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

test("however a stream is cut into chunks, the same frames come out in the same order", () => {
  fc.assert(
    fc.property(frameTexts, fc.array(fc.nat(), { maxLength: 20 }), (frames, places) => {
      const decoder = new FrameDecoder(MEBIBYTE);
      const decoded = cut(encodeFrames(frames), places).flatMap((chunk) => decoder.push(chunk));
      expect(decoded).toEqual(frames);
      expect(decoder.refused).toBeUndefined();
    }),
  );
});

test("a stream that arrives byte by byte gives each frame with its last byte", () => {
  const decoder = new FrameDecoder(MEBIBYTE);
  const long = "x".repeat(1000);
  const frames = ["", "é", "{}\n[]", long];
  const arrivals = Array.from(encodeFrames(frames), (byte) => decoder.push(Buffer.from([byte])));
  expect(arrivals.flatMap((decoded, index) => decoded.map((text) => [index, text]))).toEqual([
    [3, ""],
    [9, "é"],
    [18, "{}\n[]"],
    [1022, long],
  ]);
});

test("a frame is its length in bytes of UTF-8 as four bytes, big-endian, and then its text", () => {
  expect(encodeFrames(["aé", "", "😀"])).toEqual(
    Buffer.from([0, 0, 0, 3, 0x61, 0xc3, 0xa9, 0, 0, 0, 0, 0, 0, 0, 4, 0xf0, 0x9f, 0x98, 0x80]),
  );
});

test("a frame of exactly the allowed size passes, and one byte more does not", () => {
  const decoder = new FrameDecoder(10);
  expect(decoder.push(encodeFrames(["0123456789", "ééééé"]))).toEqual(["0123456789", "ééééé"]);
  expect(decoder.refused).toBeUndefined();
  expect(decoder.push(encodeFrames(["éééééé"]))).toEqual([]);
  expect(decoder.refused).toEqual({ bytes: 12, allowed: 10 });
});

test("an oversize frame is found in its prefix, before any of its bytes have come", () => {
  const decoder = new FrameDecoder(10);
  expect(decoder.push(Buffer.from([0xff, 0xff, 0xff]))).toEqual([]);
  expect(decoder.refused).toBeUndefined();
  expect(decoder.push(Buffer.from([0xff]))).toEqual([]);
  expect(decoder.refused).toEqual({ bytes: 0xffff_ffff, allowed: 10 });
});

test("frames before an oversize one are given, and nothing after it is read as a frame", () => {
  const decoder = new FrameDecoder(4);
  expect(decoder.push(encodeFrames(["good", "too long", "fine"]))).toEqual(["good"]);
  expect(decoder.push(encodeFrames(["fine"]))).toEqual([]);
  expect(decoder.refused).toEqual({ bytes: 8, allowed: 4 });
});

test("the allowed size can be changed between frames", () => {
  const decoder = new FrameDecoder(4);
  decoder.allowed = 8;
  expect(decoder.push(encodeFrames(["too long"]))).toEqual(["too long"]);
  decoder.allowed = 4;
  expect(decoder.push(encodeFrames(["too long"]))).toEqual([]);
  expect(decoder.refused).toEqual({ bytes: 8, allowed: 4 });
});

test("a smaller allowed size holds from the next frame on, and not for one that is under way", () => {
  const decoder = new FrameDecoder(1000);
  const bytes = encodeFrames(["x".repeat(500), "y".repeat(101)]);
  decoder.push(bytes.subarray(0, 100));
  decoder.allowed = 100;
  expect(decoder.push(bytes.subarray(100))).toEqual(["x".repeat(500)]);
  expect(decoder.refused).toEqual({ bytes: 101, allowed: 100 });
});

test("half of a surrogate pair crosses as the replacement character and does not shift what follows", () => {
  const decoder = new FrameDecoder(MEBIBYTE);
  expect(decoder.push(encodeFrames(["a\ud800b", "next"]))).toEqual(["a\ufffdb", "next"]);
});

test("a frame that is not UTF-8 is refused, in one chunk or in several, and nothing after it is read", () => {
  const bad = Buffer.from([0, 0, 0, 3, 0x22, 0xff, 0x22]);
  const good = encodeFrames(["é"]);
  for (const cut of [0, 2, 5, bad.length]) {
    const decoder = new FrameDecoder(100);
    const all = Buffer.concat([good, bad, good]);
    const frames = [all.subarray(0, good.length + cut), all.subarray(good.length + cut)].flatMap((chunk) =>
      decoder.push(chunk),
    );
    expect(frames).toEqual(["é"]);
    expect(decoder.refused).toBe("no text");
  }
});

test("a text takes no more bytes than the frame that it came in, whatever bytes that had", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const prefix = Buffer.from([0, 0, 0, bytes.length]);
      const [text = ""] = new FrameDecoder(64).push(Buffer.concat([prefix, bytes]));
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(bytes.length);
    }),
  );
});
