import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readLines } from "../../../src/journal/index.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { failing } from "../../support/failing.ts";

async function* chunks(...parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === "string" ? Buffer.from(part) : part;
}

test("lines are the same wherever their bytes are cut", async () => {
  const text = fc
    .string({ unit: anyCharacter, maxLength: 20 })
    .filter((line) => !/[\r\n]/.test(line) && line.isWellFormed());
  await fc.assert(
    fc.asyncProperty(
      fc.array(text),
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom("\n", "\r\n"),
      async (lines, size, end) => {
        const all = lines.map((line) => line.replace(/^\ufeff/, "x"));
        const bytes = Buffer.from(all.map((line) => line + end).join(""));
        const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        expect(await Array.fromAsync(readLines(chunks(...parts)))).toEqual(all);
      },
    ),
  );
});

test("the last line needs no end, and an empty one is a line", async () => {
  expect(await Array.fromAsync(readLines(chunks("a\n\nb")))).toEqual(["a", "", "b"]);
});

test("a line that is too long is refused by its number before it has been read, and no more is read", async () => {
  let given = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("short\n");
    for (;;) {
      given += 1;
      yield Buffer.alloc(100, 120);
    }
  }
  await expect(Array.fromAsync(readLines(endless(), 1000))).rejects.toMatchObject(
    failing("journal_invalid", "Line 2 "),
  );
  expect(given).toBe(11);
});

test("bytes that are not UTF-8 are refused by the number of their line", async () => {
  await expect(Array.fromAsync(readLines(chunks("a\n", new Uint8Array([0xff, 0x0a]))))).rejects.toMatchObject(
    failing("journal_invalid", "Line 2 "),
  );
});
