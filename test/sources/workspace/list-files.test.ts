import { expect, test } from "vitest";
import { Folder } from "./folder.ts";

const FILES = { "b.md": "", "a.md": "", "src/x.ts": "", "src/deep/y.ts": "", "node_modules/z.ts": "", ".env": "" };

test.each([
  ["the root", {}, ["a.md", "b.md", "src/"]],
  ["a folder", { path: "src" }, ["src/deep/", "src/x.ts"]],
  ["files at any depth", { files: "*.ts" }, ["src/deep/y.ts", "src/x.ts"]],
  ["files of a folder", { path: "src/deep", files: "*" }, ["src/deep/y.ts"]],
  ["files by their paths from the root", { path: "src", files: "src/*.ts" }, ["src/x.ts"]],
])("lists %s, in the order of their names", async (_, input, paths) => {
  await using folder = new Folder(FILES);
  expect(await folder.call("list_files", input)).toEqual({ paths });
});

test("files of which it takes too long to tell whether they are wanted are counted", async () => {
  await using folder = new Folder({ [`${`${"b".repeat(200)}/`.repeat(15)}a`]: "x", c: "x" });
  const files = `x/${"{a,b*}".repeat(100)}c`.replace("x/", "**/{a,b*}/");
  expect(await folder.call("list_files", { files })).toEqual({ paths: [], passedOver: { costlyPaths: 1 } });
});

test("what is not listed is counted", async () => {
  await using folder = new Folder(FILES);
  const advice = "give a narrower path or files, or a higher limit";
  for (const [limit, left] of [
    [1, "2 more entries"],
    [2, "1 more entry"],
  ] as const)
    expect(await folder.call("list_files", { limit })).toMatchObject({
      paths: { length: limit },
      more: `${left}: ${advice}`,
    });
});

test("what a model is given fits its page", async () => {
  await using folder = new Folder(
    Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`${index}-${"x".repeat(40)}`, ""])),
    { pageBytes: 2048 },
  );
  expect(JSON.stringify(await folder.call("list_files", {})).length).toBeLessThan(2200);
  expect(await folder.call("list_files", {}, "programmatic")).toMatchObject({ paths: { length: 200 } });
});

test("a pattern that cannot be read fails the call", async () => {
  await using folder = new Folder(FILES);
  expect(await folder.call("list_files", { files: "{" })).toBe('files: "{" has a { without its }.');
});
