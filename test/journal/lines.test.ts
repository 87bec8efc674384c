import * as fc from "fast-check";
import { expect, test } from "vitest";
import { exportLines, importLines, createMemoryJournal } from "../../src/journal/index.ts";
import { createSqliteJournal } from "../../src/index.ts";
import { header, outcome, RECORDS, turn } from "./records.ts";
import { anyCharacter } from "../support/any-character.ts";
import { codeOf } from "../support/failing.ts";

async function* linesOf(texts: readonly string[]): AsyncGenerator<string> {
  yield* texts;
}

async function written() {
  const journal = createMemoryJournal();
  for (const execution of ["one", "two"]) {
    await journal.create(header(execution));
    await journal.append(execution, 1, [...RECORDS, outcome]);
  }
  return journal;
}

test("what is exported and imported gives the same lines, byte for byte, from another kind of store too", async () => {
  const lines = await Array.fromAsync(exportLines(await written(), ["one", "two"]));
  using store = createSqliteJournal({ path: ":memory:" });
  expect(await Array.fromAsync(importLines(store, linesOf(lines)))).toEqual(["one", "two"]);
  expect(await Array.fromAsync(exportLines(store, ["one", "two"]))).toEqual(lines);
});

test("any text survives, whatever its characters and its length", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: anyCharacter, maxLength: 200 })), fc.nat(2), async (texts, repeats) => {
      const journal = createMemoryJournal();
      await journal.create(header("one"));
      await journal.append(
        "one",
        1,
        texts.map((text) => turn(text.repeat(1 + repeats * 500), text)),
      );
      const lines = await Array.fromAsync(exportLines(journal, ["one"]));
      using store = createSqliteJournal({ path: ":memory:" });
      await Array.fromAsync(importLines(store, linesOf(lines)));
      expect(await Array.fromAsync(exportLines(store, ["one"]))).toEqual(lines);
      expect(await Array.fromAsync(store.read("one"))).toEqual(await Array.fromAsync(journal.read("one")));
    }),
    { numRuns: 50 },
  );
});

test.each([
  ["text that is not JSON", ["{"], "Line 1 is not a record of a journal: it is not JSON."],
  ["records without a header", [JSON.stringify(outcome)], "Lines 1 to 1: These are not the records of an execution"],
  ["an unknown field", [JSON.stringify({ ...header("x"), more: 1 })], "Lines 1 to 1:"],
  ["another format", [JSON.stringify({ ...header("x"), format: 2 })], "Lines 1 to 1: The journal has format 2"],
  ["a null", ["null"], "Lines 1 to 1:"],
])("an import of %s is refused with its line, and writes nothing", async (_, lines, message) => {
  const journal = createMemoryJournal();
  await expect(Array.fromAsync(importLines(journal, linesOf(lines)))).rejects.toMatchObject({
    message: expect.stringContaining(message),
  });
  expect(await Array.fromAsync(journal.list())).toEqual([]);
});

test("an execution that the journal holds is refused, and those before it stay", async () => {
  const lines = await Array.fromAsync(exportLines(await written(), ["one", "two"]));
  const journal = createMemoryJournal();
  await journal.create(header("two"));
  expect(await codeOf(Array.fromAsync(importLines(journal, linesOf(lines))))).toBe("execution_exists");
  expect((await Array.fromAsync(journal.list())).map(({ execution }) => execution)).toEqual(["one", "two"]);
});
