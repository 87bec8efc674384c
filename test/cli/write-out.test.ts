import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writePrivate } from "../../src/cli/write-out.ts";
import { newFolder } from "../support/new-folder.ts";

const folder = newFolder();

test("a file that was there, for all to read, is replaced by one for its owner alone", () => {
  const file = join(folder, "there.html");
  writeFileSync(file, "before");
  chmodSync(file, 0o666);
  writePrivate(file, "after");
  expect(readFileSync(file, "utf8")).toBe("after");
  // oxlint-disable-next-line no-bitwise -- the bits of a mode
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test.each(["there", "not there"])("a link is replaced, and what it leads to (%s) stays as it is", (where) => {
  const target = join(folder, `target ${where}`);
  if (where === "there") writeFileSync(target, "mine");
  const file = join(folder, `link ${where}`);
  symlinkSync(target, file);
  writePrivate(file, "after");
  expect(readFileSync(file, "utf8")).toBe("after");
  expect(readdirSync(folder).includes(`target ${where}`)).toBe(where === "there");
  if (where === "there") expect(readFileSync(target, "utf8")).toBe("mine");
});

test("a file that cannot be written leaves nothing behind", () => {
  const before = readdirSync(folder);
  expect(() => writePrivate(join(folder, "none/x.html"), "x")).toThrow(/ENOENT/);
  expect(() => writePrivate(folder, "x")).toThrow(/EISDIR/);
  expect(readdirSync(folder)).toEqual(before);
});

test.skipIf(process.platform === "win32")("what is no file, like a pipe, is written to", () => {
  const source = new URL("../../src/cli/write-out.ts", import.meta.url).href;
  const program = `const { writePrivate } = await import(${JSON.stringify(source)}); writePrivate("/dev/stdout", "shown");`;
  const command = `"$0" --input-type=module -e "$1" | cat`;
  const shown = execFileSync("sh", ["-c", command, process.execPath, program]);
  expect(String(shown)).toBe("shown");
});
