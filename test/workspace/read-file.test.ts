import { describe, expect, test } from "vitest";
import { pageOf } from "../../src/workspace/read-file.ts";
import { isText, linesOf } from "../../src/workspace/text-lines.ts";
import { Folder } from "./folder.ts";

const many = Array.from({ length: 5000 }, (_, index) => `line ${index + 1}`).join("\n");

describe("what a page says", () => {
  test.each([
    ["a file of three lines", "a\nb\nc\n", {}, { lines: 3, text: "1\ta\n2\tb\n3\tc" }],
    ["without a last line's end", "a\nb", {}, { lines: 2, text: "1\ta\n2\tb" }],
    ["lines that end with CRLF", "a\r\n\r\nb\r\n", {}, { lines: 3, text: "1\ta\n2\t\n3\tb" }],
    ["an empty file", "", {}, { lines: 0, text: "" }],
    ["without numbers", "a\nb\n", { numbered: false }, { lines: 2, text: "a\nb" }],
    ["from an offset", "a\nb\nc\n", { offset: 3 }, { lines: 3, text: "3\tc" }],
    ["up to a limit", "a\nb\nc\n", { limit: 2 }, { lines: 3, text: "1\ta\n2\tb", more: "1 more line: offset=3" }],
    [
      "a page within",
      many,
      { offset: 10, limit: 2 },
      { lines: 5000, text: "10\tline 10\n11\tline 11", more: "4989 more lines: offset=12" },
    ],
  ])("%s", async (_, text, more, page) => {
    await using folder = new Folder({ "a.txt": text });
    expect(await folder.call("read_file", { path: "a.txt", ...more })).toEqual({ path: "a.txt", ...page });
  });
});

test("pages of a model and of a program together hold the file, each page within its bytes", async () => {
  await using folder = new Folder({ "a.txt": many }, { pageBytes: 2048 });
  for (const [caller, pages] of [
    ["direct", 20],
    ["programmatic", 2],
  ] as const) {
    const lines: string[] = [];
    let count = 0;
    for (let offset = 1; ; count += 1) {
      const page = (await folder.call("read_file", { path: "a.txt", offset, numbered: false }, caller)) as {
        readonly text: string;
        readonly more?: string;
      };
      if (caller === "direct") expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(2048 + 200);
      lines.push(...page.text.split("\n"));
      if (page.more === undefined) break;
      offset = Number(/^\d+ more lines?: offset=(\d+)$/.exec(page.more)?.[1]);
    }
    expect(lines.join("\n")).toBe(many);
    expect(count).toBeGreaterThanOrEqual(pages);
  }
});

test("a long line is cut for a model, which is told so, and whole for a program", async () => {
  await using folder = new Folder({ "a.txt": `${"é".repeat(5000)}\nb\n` });
  expect(await folder.call("read_file", { path: "a.txt" })).toEqual({
    path: "a.txt",
    lines: 2,
    text: `1\t${"é".repeat(2000)}… (cut: the line has 10000 bytes)\n2\tb`,
    more: "1 line was cut",
  });
  expect(await folder.call("read_file", { path: "a.txt" }, "programmatic")).toMatchObject({
    text: `1\t${"é".repeat(5000)}\n2\tb`,
  });
});

test.each([
  ["bytes with a zero", Buffer.from("PK\u0003\u0004\0\0"), '"a" is no text in UTF-8, but 6 bytes of data.'],
  ["Latin-1", Buffer.from("caf\u00e9", "latin1"), '"a" is no text in UTF-8, but 4 bytes of data.'],
  [
    "an image",
    Buffer.from("89504e470d0a1a0a00", "hex"),
    '"a" is no text in UTF-8, but 9 bytes of data (image/png): view_image shows it.',
  ],
  ["a long file", Buffer.alloc(4097, "x"), '"a" has 4097 bytes; files of up to 4096 bytes are read.'],
])("%s is refused with what it is", async (_, bytes, message) => {
  await using folder = new Folder({ a: bytes }, { fileBytes: 4096 });
  expect(await folder.call("read_file", { path: "a" })).toBe(message);
});

test.each([
  [{ offset: 4 }, "has 3 lines: offset is from 1 to 3"],
  [{ offset: 0 }, "offset"],
  [{ limit: 0 }, "limit"],
  [{ limit: 1.5 }, "limit"],
  [{ lines: 3 }, "lines"],
])("%j is refused by its name", async (more, name) => {
  await using folder = new Folder({ a: "1\n2\n3\n" });
  expect(await folder.call("read_file", { path: "a", ...more })).toContain(name);
});

test("a text of newlines alone is read while others have the thread, and no further once the call is given up", async () => {
  const bytes = Buffer.alloc(1024 * 1024, "\n");
  const given = new AbortController();
  const context = { caller: "direct", tenant: "", signal: given.signal } as const;
  const turns = { count: 0, until: Number.POSITIVE_INFINITY };
  const count = (): void => {
    turns.count += 1;
    if (turns.count < turns.until) setImmediate(count);
  };
  count();
  const { lines } = await pageOf(bytes, { path: "a", limit: 1 }, context, 1024);
  expect(lines).toBe(bytes.length);
  expect(turns.count).toBeGreaterThan(10);
  turns.until = 0;
  const reading = pageOf(bytes, { path: "a" }, context, 1024);
  given.abort(new Error("given up"));
  await expect(reading).rejects.toThrow("given up");
});

test("lines are those of the text, with places at which others may have the thread", () => {
  const bytes = Buffer.from(many);
  const given = [...linesOf(bytes)];
  const lines = given.filter((line) => line !== undefined);
  expect(lines.map((line) => String(line.bytes)).join("\n")).toBe(many);
  expect(lines.map(({ number }) => number)).toEqual(lines.map((_, index) => index + 1));
  expect(given.length - lines.length).toBe(Math.floor(bytes.length / 4096));
  expect([isText(bytes), isText(Buffer.from([0xff])), isText(Buffer.alloc(1))]).toEqual([true, false, false]);
});
