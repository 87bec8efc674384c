import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import type { CallContext } from "../../../src/index.ts";
import { grepFiles } from "../../../src/sources/workspace/grep-files.ts";
import { Workspace } from "../../../src/sources/workspace/workspace.ts";
import { countTurns } from "../../support/count-turns.ts";
import { Folder } from "./folder.ts";

const FILES = {
  "README.md": "# One\nsee src/a.ts\n",
  "src/a.ts": "export const a = 1;\nexport const café = a + 1;\n",
  "src/b/c.ts": "import { a } from '../../a.ts';\r\nconsole.log(a);\r\n",
  "node_modules/x/index.ts": "export const a = 2;\n",
};

test.each([
  ["a text", { pattern: "const a " }, ["src/a.ts:1: export const a = 1;"]],
  ["a text with a character of syntax", { pattern: "log\\(a\\)" }, ["src/b/c.ts:2: console.log(a);"]],
  [
    "an expression",
    { pattern: "^export const \\p{L}+ =" },
    ["src/a.ts:1: export const a = 1;", "src/a.ts:2: export const café = a + 1;"],
  ],
  ["the end of a line, without its CRLF", { pattern: "';$" }, ["src/b/c.ts:1: import { a } from '../../a.ts';"]],
  ["files by name", { pattern: "a.ts", files: "*.md" }, ["README.md:2: see src/a.ts"]],
  [
    "files of a folder",
    { pattern: "a", path: "src/b", files: "*.ts" },
    ["src/b/c.ts:1: import { a } from '../../a.ts';", "src/b/c.ts:2: console.log(a);"],
  ],
  ["one file, whatever files says", { pattern: "One", path: "README.md", files: "*.ts" }, ["README.md:1: # One"]],
  ["nothing", { pattern: "zebra" }, []],
])("finds %s", async (_, input, lines) => {
  await using folder = new Folder(FILES);
  const { matches, ...rest } = (await folder.call("grep_files", input)) as {
    readonly matches: readonly { readonly path: string; readonly line: number; readonly text: string }[];
  };
  expect(matches.map(({ path, line, text }) => `${path}:${line}: ${text}`)).toEqual(lines);
  expect(rest).toEqual({});
});

test("matches that are not given are counted, with what to do", async () => {
  await using folder = new Folder({ a: "x\n".repeat(30), b: "x\nx\n", c: "x\n" });
  expect(await folder.call("grep_files", { pattern: "x", limit: 29 })).toMatchObject({
    matches: { length: 29 },
    more: "4 more matches in 3 files: give a narrower path or files, or a higher limit",
  });
});

test("what a model is given fits its page, and a program is given all", async () => {
  await using folder = new Folder({ a: `${"x".repeat(250)}\n`.repeat(90) }, { pageBytes: 4096 });
  const direct = await folder.call("grep_files", { pattern: "x" });
  expect(JSON.stringify(direct).length).toBeLessThan(4400);
  expect(direct).toMatchObject({ more: expect.stringContaining("more matches in 1 file:") as string });
  expect(await folder.call("grep_files", { pattern: "x" }, "programmatic")).toMatchObject({ matches: { length: 90 } });
});

test("what is not searched is counted: binary and long files, long lines, lines that cost too much", async () => {
  await using folder = new Folder(
    {
      binary: Buffer.from("match\0"),
      long: Buffer.alloc(40_000, "match\n"),
      lines: `${"match".repeat(2001)}\nmatch\n`,
    },
    { fileBytes: 20_000 },
  );
  expect(await folder.call("grep_files", { pattern: "match" })).toEqual({
    matches: [{ path: "lines", line: 2, text: "match" }],
    passedOver: { binary: 1, longFiles: 1, longLines: 1 },
  });
  const costly = "(?:a?){300}a{300}b";
  folder.write("costly", `${"a".repeat(9000)}\n${"a".repeat(400)}b\n`);
  expect(await folder.call("grep_files", { pattern: costly, path: "costly" })).toEqual({
    matches: [],
    passedOver: { longLines: 2 },
  });
});

test("a line that is given is cut at its length", async () => {
  await using folder = new Folder({ a: `${"x".repeat(299)}😀y\n` });
  expect(await folder.call("grep_files", { pattern: "y" })).toEqual({
    matches: [{ path: "a", line: 1, text: `${"x".repeat(299)}\ufffd…` }],
  });
});

test.each([
  [{ pattern: "(" }, "is not an ECMAScript regular expression"],
  [{ pattern: "(a)\\1" }, "refers back to one of its groups"],
  [{ pattern: "(?i:a)" }, "has a group that changes flags"],
  [{ pattern: "(?:a{1000}){1000}" }, "states"],
  [{ pattern: "" }, "pattern"],
  [{ pattern: "a", files: "{a" }, 'files: "{a" has a { without its }.'],
  [{ pattern: "a", path: "binary" }, '"binary" is no text in UTF-8.'],
  [{ pattern: "a", path: "nowhere" }, 'There is no "nowhere": list_files shows what there is.'],
  [{ pattern: "a", limit: 1001 }, "limit"],
])("%j is refused with a sentence, and nothing is searched", async (input, message) => {
  await using folder = new Folder({ binary: Buffer.from("a\0") });
  expect(await folder.call("grep_files", input)).toContain(message);
});

/** A folder with one file, which is read without waiting for the disk. */
class InMemory extends Workspace {
  override isFolder = () => Promise.resolve(false);
  override read = () => Promise.resolve(Buffer.from("a\n".repeat(1000)));
}

test("others have the thread while an expression is costly at each of many short lines", async () => {
  const context = { caller: "direct", tenant: "", signal: new AbortController().signal } as CallContext;
  const turns = countTurns();
  const input = { pattern: "(?:a?b?c?d?e?){300}x", path: "a" };
  const found = await grepFiles(new InMemory(tmpdir(), []), input, context, { fileBytes: 10_000, pageBytes: 10_000 });
  expect([found, turns() > 10]).toEqual([{ matches: [] }, true]);
});
