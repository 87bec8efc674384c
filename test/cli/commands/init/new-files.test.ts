import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { writeNewFiles } from "../../../../src/cli/commands/init/init.ts";

const root = mkdtempSync(join(realpathSync(tmpdir()), "portcullis-init-"));
afterAll(() => rmSync(root, { recursive: true }));
let folder = "";
beforeEach(() => {
  folder = join(mkdtempSync(join(root, "case-")), "mine");
});

const FILES = [
  { name: "tools.ts", text: "tools" },
  { name: "program.js", text: "program" },
];
const refused = (exitCode: number, message: string) =>
  expect.objectContaining({ exitCode, message: expect.stringContaining(message) as string }) as Error;

test("writes its files to a folder that it makes, with those above it, or that is empty but for a repository", () => {
  mkdirSync(join(folder, ".git"), { recursive: true });
  for (const own of [folder, join(folder, "a/b")]) {
    if (own !== folder) expect(() => writeNewFiles(folder, FILES)).toThrow(refused(2, "is not empty"));
    writeNewFiles(own, FILES);
    expect(readFileSync(join(own, "tools.ts"), "utf8")).toBe("tools");
  }
});

test("a file that another process makes meanwhile stays as it is, and none of the command's own stays", () => {
  const second = {
    name: "program.js",
    get text() {
      writeFileSync(join(folder, "program.js"), "theirs");
      return "mine";
    },
  };
  expect(() => writeNewFiles(folder, [FILES[0]!, second])).toThrow(refused(5, "EEXIST"));
  expect(readdirSync(folder)).toEqual(["program.js"]);
  expect(readFileSync(join(folder, "program.js"), "utf8")).toBe("theirs");
});

test("a folder that other users may write to, a file, and a name that cannot be printed are refused", () => {
  mkdirSync(folder);
  chmodSync(folder, 0o1777);
  expect(() => writeNewFiles(folder, FILES)).toThrow(refused(2, "other users may write"));
  expect(readdirSync(folder)).toEqual([]);
  writeFileSync(`${folder}-file`, "mine");
  expect(() => writeNewFiles(`${folder}-file`, FILES)).toThrow(refused(5, "cannot be written"));
  for (const name of ["", "new\nline", "\u001b[2J", "ann\u202egnp"])
    expect(() => writeNewFiles(name, FILES)).toThrow(refused(2, "expected a folder"));
});
