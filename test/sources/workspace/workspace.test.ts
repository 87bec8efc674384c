import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Glob } from "../../../src/sources/workspace/glob.ts";
import { Search, Workspace } from "../../../src/sources/workspace/workspace.ts";
import { testOfAll } from "../../support/all-tests.ts";
import { Folder } from "./folder.ts";

const SECRET = "the secret beside the workspace";

/** A folder with a secret beside it, and with links to it and inside. */
function trap(): Folder {
  const folder = new Folder({
    "src/a.txt": "inside\n",
    ".env": "KEY=1\n",
    ".env.local": "KEY=2\n",
    ".git/config": "x",
  });
  writeFileSync(join(folder.outside, "secret.txt"), SECRET);
  mkdirSync(join(folder.outside, "rootbeside"));
  writeFileSync(join(folder.outside, "rootbeside/secret.txt"), SECRET);
  symlinkSync(join(folder.outside, "secret.txt"), join(folder.root, "link.txt"));
  symlinkSync("..", join(folder.root, "up"));
  symlinkSync("src", join(folder.root, "inner"));
  symlinkSync("/etc", join(folder.root, "src/etc"));
  symlinkSync("loop", join(folder.root, "loop"));
  return folder;
}

test.each([
  ["../../secret.txt", "leads out"],
  ["src/../../secret.txt", "leads out"],
  ["src/../src/a.txt", "leads out"],
  ["..", "leads out"],
  ["/etc/passwd", "relative to the workspace"],
  ["C:\\Windows\\win.ini", "relative to the workspace"],
  ["\\\\host\\share", "relative to the workspace"],
  ["link.txt", "is a link"],
  ["up/secret.txt", "is a link"],
  ["up/root/src/a.txt", "is a link"],
  ["inner/a.txt", "is a link"],
  ["src/etc/passwd", "is a link"],
  ["loop", "is a link"],
  ["src/a.txt\0.png", "no character 0"],
  ["x/".repeat(3000), "up to 4096 characters"],
  ["x".repeat(300), "too long for a file"],
  ["src/a.txt/b", "There is no"],
  ["../rootbeside/secret.txt", "leads out"],
  [".env", "kept from these tools"],
  [".env.local", "kept from these tools"],
  [".git/config", "kept from these tools"],
  ["./.git//config", "kept from these tools"],
])("no tool reaches %j, and the answer tells nothing of where the workspace lies", async (path, why) => {
  await using folder = trap();
  for (const tool of ["read_file", "view_image", "list_files", "grep_files"]) {
    const input = tool === "grep_files" ? { path, pattern: "." } : { path };
    const answer = await folder.call(tool, input);
    expect(answer).toContain(why);
    expect(answer).not.toContain(folder.outside);
    expect(answer).not.toContain(SECRET);
  }
});

test("searches name no link, and give nothing that lies behind one", async () => {
  await using folder = trap();
  expect(await folder.call("list_files", { files: "**" })).toEqual({ paths: ["src/a.txt"], passedOver: { links: 5 } });
  expect(await folder.call("list_files", {})).toEqual({ paths: ["src/"], passedOver: { links: 4 } });
  expect(await folder.call("grep_files", { pattern: "inside|secret|KEY" })).toEqual({
    matches: [{ path: "src/a.txt", line: 1, text: "inside" }],
    passedOver: { links: 5 },
  });
});

test("pipes and folders are no files, and no call waits for a pipe", async () => {
  await using folder = trap();
  execFileSync("mkfifo", [join(folder.root, "pipe")]);
  expect(await folder.call("read_file", { path: "pipe" })).toBe('"pipe" is no file.');
  expect(await folder.call("grep_files", { path: "pipe", pattern: "x" })).toBe('"pipe" is no file and no folder.');
  expect(await folder.call("read_file", { path: "src" })).toBe('"src" is a folder: list_files shows what is in it.');
  expect(await folder.call("list_files", { path: "src/a.txt" })).toBe('"src/a.txt" is a file: read_file reads it.');
  expect(await folder.call("list_files", {})).toEqual({ paths: ["src/"], passedOver: { links: 4, unreadable: 1 } });
});

test("a hard link is a file like any other", async () => {
  await using folder = trap();
  linkSync(join(folder.root, "src/a.txt"), join(folder.root, "hard.txt"));
  expect(await folder.call("read_file", { path: "hard.txt" })).toMatchObject({ text: "1\tinside" });
});

test("a root that is a link is the folder that it leads to", async () => {
  await using folder = trap();
  symlinkSync(folder.root, join(folder.outside, "to-root"));
  const workspace = new Workspace(join(folder.outside, "to-root"), []);
  expect(String(await workspace.read(workspace.place("./src//a.txt"), 100))).toBe("inside\n");
});

test("what is excluded stays so at a path at which the pattern is too costly", () => {
  const excluding = new Workspace(tmpdir(), [new Glob(`${"{a,b*}".repeat(100)}c`)]);
  expect(() => excluding.place("b".repeat(4000))).toThrow("is kept from these tools");
  expect(excluding.place("b")).toBe("b");
});

testOfAll("the files of a folder come in the order of their names, however many they are", async () => {
  const names = Array.from({ length: 5000 }, (_, index) => String(index));
  await using folder = new Folder(Object.fromEntries(names.map((name) => [name, ""])));
  const workspace = new Workspace(folder.root, []);
  const search = new Search("", new AbortController().signal);
  const files = workspace.files(workspace.place(""), search);
  expect(await Array.fromAsync(files)).toEqual(names.toSorted());
});

test("a folder that goes away during a search is counted, and the rest is found", async () => {
  await using folder = new Folder({ "a/1": "", "b/1": "", "c/1": "" });
  const workspace = new Workspace(folder.root, []);
  const search = new Search("", new AbortController().signal);
  const found: string[] = [];
  for await (const path of workspace.files(workspace.place(""), search)) {
    found.push(path);
    if (path === "a/1") rmSync(join(folder.root, "b"), { recursive: true });
  }
  expect([found, search.passedOver]).toEqual([["a/1", "c/1"], { unreadable: 1 }]);
});

test("a search ends once its call is given up", async () => {
  await using folder = new Folder({ "a/1": "", "b/1": "" });
  const workspace = new Workspace(folder.root, []);
  const given = new AbortController();
  const search = new Search("", given.signal);
  const files = workspace.files(workspace.place(""), search);
  expect((await files.next()).value).toBe("a/1");
  given.abort(new Error("given up"));
  await expect(files.next()).rejects.toThrow("given up");
});
