import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../src/", import.meta.url));
const sources = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
const textOf = (path: string) => readFileSync(`${root}${path}`, "utf8").replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");

/** What reads a store: the reader, journals that pass on to another one, and the check of stores. */
const READERS: ReadonlySet<string> = new Set([
  "journal/reading/read-records.ts",
  "journal/wrapped-journal.ts",
  "journal/stored-journal.ts",
]);

/** `journal.read(`, `this.#journal.read(`, `runtime.journal.read(`, `store.read(`, and `read` taken out of one. */
const READS =
  /\b(?:journal|store)\)?\s*\??\.\s*read\b|\{[^{}=;()]*\bread\b[^{}=;()]*\}\s*=\s*[\w.#]*\b(?:journal|store)\b/gi;

test("records come through one reader: nothing else in the package reads a journal", () => {
  expect(sources.length).toBeGreaterThan(500);
  const reading = sources.filter((path) => !READERS.has(path) && textOf(path).match(READS));
  expect(reading).toEqual([]);
});

test.each([
  "journal.read(id)",
  "this.#journal.read(execution, { from })",
  "parts.runtime.journal.read(own)",
  "journal\n  .read(id)",
  "storeOf(journal).read(id)",
  "const { read } = journal;",
  "const { find, read: records } = this.#parts.journal;",
])("the check sees %j", (text) => {
  expect(text.match(READS)).not.toBeNull();
});

test("what reads is no longer named here once it does not", () => {
  for (const path of READERS) expect(textOf(path)).toMatch(/\.\s*read\(/);
});

/** What lists a store. */
const LISTERS: ReadonlySet<string> = new Set([
  "journal/reading/read-records.ts",
  "journal/wrapped-journal.ts",
  "journal/stored-journal.ts",
]);

const LISTS =
  /\b(?:journal|store)\w*(?:\([^()]*\))?\s*\??\.\s*list\b|\{[^{}=;()]*\blist\b[^{}=;()]*\}\s*=\s*[\w.#]*\b(?:journal|store)\b/gi;

test("executions come through one reader that shares the thread: nothing else in the package lists a journal", () => {
  const listing = sources.filter((path) => !LISTERS.has(path) && textOf(path).match(LISTS));
  expect(listing).toEqual([]);
});

test.each(["journal.list()", "runtime.journal.list({ open })", "storeOf(journal).list()", "const { list } = journal;"])(
  "the check of lists sees %j",
  (text) => {
    expect(text.match(LISTS)).not.toBeNull();
  },
);
