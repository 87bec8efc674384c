import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeptSecrets } from "../../../../src/sources/kept-secrets.ts";
import { EventItems } from "../../../../src/sources/openapi/streams/event-items.ts";
import type { ItemReader } from "../../../../src/sources/openapi/streams/item-reader.ts";
import { LineItems, SequenceItems } from "../../../../src/sources/openapi/streams/line-items.ts";

const PARTS = {
  source: "api",
  secrets: new KeptSecrets(["the-secret"], 4),
  resultBytes: 1000,
  resultValues: 100,
};

/** The items of these chunks, and the code of the error that ended them. */
function read(Reader: new (parts: typeof PARTS) => ItemReader, ...chunks: readonly (string | Buffer)[]) {
  const reader = new Reader(PARTS);
  const items: unknown[] = [];
  try {
    for (const chunk of chunks) for (const item of reader.push(Buffer.from(chunk as string))) items.push(item);
    for (const item of reader.end()) items.push(item);
  } catch (error) {
    return [...items, (error as { readonly code: unknown }).code];
  }
  return items;
}

/** Bytes, cut at some places. */
function cutAt(text: string, places: readonly number[]): readonly Buffer[] {
  const bytes = Buffer.from(text);
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((one, other) => one - other);
  return [0, ...ends].map((start, index) => bytes.subarray(start, ends[index] ?? bytes.length));
}

const cuts = fc.array(fc.nat(), { maxLength: 10 });
const values = fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 20 });

describe("lines of JSON", () => {
  test.each<readonly [string, string, readonly unknown[]]>([
    ["with and without a last line end", '{"a":1}\n[2]', [{ a: 1 }, [2]]],
    ["of other systems, blank ones, and a byte order mark", '\ufeff1\r\n\r\n \n"x"\r\n', [1, "x"]],
    ["of null and of nothing", "null\n\n", [null]],
    ["with a secret, also escaped", '"the-secret"\n"\\u0074he-secret"\n', ["[secret]", "[secret]"]],
    ["that are none, after those that are", '1\n2\n{"a":\n3\n', [1, 2, "source_unavailable"]],
    ["of which the last is cut off", '1\n{"a":', [1, "source_unavailable"]],
  ])("%s", (_, text, items) => {
    expect(read(LineItems, text)).toEqual(items);
    expect(read(LineItems, ...Array.from(Buffer.from(text), (byte) => Buffer.from([byte])))).toEqual(items);
  });

  test("are the same however they are cut", () => {
    fc.assert(
      fc.property(values, cuts, (given, places) => {
        const text = given.map((value) => `${JSON.stringify(value)}\n`).join("");
        expect(read(LineItems, ...cutAt(text, places))).toEqual(
          given.map((value) => JSON.parse(JSON.stringify(value))),
        );
      }),
    );
  });

  test("that are not UTF-8, too long, or hold too many values end the stream after those before", () => {
    const bad = Buffer.from([0x31, 10, 0x22, 0xff, 0x22, 10, 0x32, 10]);
    expect(read(LineItems, bad)).toEqual([1, "source_unavailable"]);
    const long = `"${"x".repeat(1000)}"`;
    expect(read(LineItems, `1\n${long}\n2\n`)).toEqual([1, "result_too_large"]);
    expect(read(LineItems, "1\n", long)).toEqual([1, "result_too_large"]);
    expect(read(LineItems, `"${"x".repeat(998)}"\n`)).toHaveLength(1);
    expect(read(LineItems, `1\n[${"0,".repeat(200)}0]\n`)).toEqual([1, "result_too_large"]);
  });
});

describe("a JSON text sequence", () => {
  test.each<readonly [string, string, readonly unknown[]]>([
    ["of one line each", '\u001e{"a":1}\n\u001e[2]\n', [{ a: 1 }, [2]]],
    ["of several lines each", '\u001e{\n\n"a":1\n}\n\u001e[\n2]\n', [{ a: 1 }, [2]]],
    ["without line ends", "\u001e1\u001e2", [1, 2]],
    ["with empty texts", "\u001e\u001e\n\u001e1\n\u001e", [1]],
    ["that breaks off", "\u001e1\n\u001e[2,\n", [1, "source_unavailable"]],
    ["with a text that is none", "\u001e1\n\u001e{\n\u001e2\n", [1, "source_unavailable"]],
    [
      "with a text that is too large",
      `\u001e1\n\u001e[\n${`"${"x".repeat(98)}",\n`.repeat(20)}`,
      [1, "result_too_large"],
    ],
  ])("%s", (_, text, items) => {
    expect(read(SequenceItems, text)).toEqual(items);
    expect(read(SequenceItems, ...Array.from(Buffer.from(text), (byte) => Buffer.from([byte])))).toEqual(items);
  });

  test("gives a text of one line before the next begins", () => {
    const reader = new SequenceItems(PARTS);
    expect([...reader.push(Buffer.from("\u001e1\n"))]).toEqual([1]);
  });
});

describe("server-sent events", () => {
  test.each<readonly [string, string, readonly unknown[]]>([
    ["with data of JSON, and of text", 'data: {"a":1}\n\ndata: [DONE]\n\n', [{ data: { a: 1 } }, { data: "[DONE]" }]],
    [
      "with a name and an id",
      "event: add\nid: 7\ndata: 1\n\ndata: 2\n\n",
      [{ event: "add", id: "7", data: 1 }, { data: 2 }],
    ],
    [
      "of several lines, in all line ends",
      "data: [1,\rdata: 2]\r\rdata: a\r\ndata:  b\r\n\r\n",
      [{ data: [1, 2] }, { data: "a\n b" }],
    ],
    [
      "beside comments, keep-alives and names without data",
      "\ufeff: hello\n\n:\n\nevent: ping\n\nretry: 5\n\ndata\n\n",
      [{ data: "" }],
    ],
    ["with an id that no server may send", "id: a\0b\ndata: 1\n\n", [{ data: 1 }]],
    [
      "with secrets",
      'id: the-secret\nevent: the-secret\ndata: "\\u0074he-secret"\n\ndata: see the-secret \\/\n\n',
      [{ event: "[secret]", id: "[secret]", data: "[secret]" }, { data: "see [secret] \\/" }],
    ],
    ["of which the last lacks its empty line", "data: 1\n\ndata: [DONE]\n", [{ data: 1 }, { data: "[DONE]" }]],
    ["of which the last is cut off", "data: 1\n\ndata: [DO", [{ data: 1 }, "source_unavailable"]],
    ["followed by a comment that is cut off", "data: 1\n\n: ke", [{ data: 1 }]],
  ])("%s", (_, text, items) => {
    expect(read(EventItems, text)).toEqual(items);
    expect(read(EventItems, ...Array.from(Buffer.from(text), (byte) => Buffer.from([byte])))).toEqual(items);
  });

  test("are the same however they are cut", () => {
    fc.assert(
      fc.property(values, cuts, (given, places) => {
        const text = given.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("");
        const data = given.map((value) => ({ data: JSON.parse(JSON.stringify(value)) as unknown }));
        expect(read(EventItems, ...cutAt(text, places))).toEqual(data);
      }),
    );
  });

  test("that are not UTF-8, too long, or hold too many values end the stream after those before", () => {
    const after = (text: string | Buffer) => read(EventItems, "data: 1\n\n", text);
    expect(after(Buffer.from([...Buffer.from("data: "), 0xff, 10, 10]))).toEqual([{ data: 1 }, "source_unavailable"]);
    expect(after(`data: ${"x".repeat(1000)}\n\n`)).toEqual([{ data: 1 }, "result_too_large"]);
    expect(after(`: ${"x".repeat(1000)}`)).toEqual([{ data: 1 }, "result_too_large"]);
    expect(after(`data: [${"0,".repeat(200)}0]\n\n`)).toEqual([{ data: 1 }, "result_too_large"]);
  });

  test("of a hundred thousand empty lines of data and more are refused, and take little memory", () => {
    const reader = new EventItems({ ...PARTS, resultBytes: 10_000_000 });
    expect(() => [...reader.push(Buffer.from(`${"data\n".repeat(1_000_000)}\n`))]).toThrow(
      "an event of more than 100000 lines",
    );
  });
});
