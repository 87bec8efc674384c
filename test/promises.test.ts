import { existsSync, readFileSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const folder = fileURLToPath(new URL(".", import.meta.url));
const README = readFileSync(posix.join(folder, "README.md"), "utf8");

/** The table of promises: what is promised, and the files and folders that its row names, from this folder. */
const [, table = ""] = /^## Which promise is held where\n\n([^]*?)\n\n/m.exec(README) ?? [];
const rows = [...table.matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].slice(2).map(([, promise = "", where = ""]) => {
  const [, under = ""] = /^(?:.*; )?(?:in )?`([\w/-]+\/)`: /.exec(where) ?? [];
  const names = [...where.matchAll(/`([^`]+(?:\.ts|\/))`/g)].map(([, name = ""]) => {
    return existsSync(posix.join(folder, name)) ? name : posix.join(under, name);
  });
  return { promise, names };
});

/** Tests of `make test` that a row names, by the file or its folder. */
function testsIn(name: string): readonly string[] {
  const files = name.endsWith("/")
    ? readdirSync(posix.join(folder, name), { recursive: true, encoding: "utf8" })
    : [name];
  return files.filter((file) => file.endsWith(".test.ts") && !/\.(?:all|machine)\.test\.ts$/.test(file));
}

test("every file and folder that the table of promises names is there", () => {
  expect(rows.length).toBeGreaterThan(100);
  const gone = rows.flatMap(({ names }) => names).filter((name) => !existsSync(posix.join(folder, name)));
  expect(gone).toEqual([]);
});

test("each promise has a test in make test", () => {
  const without = rows.filter(({ names }) => !names.some((name) => testsIn(name).length > 0));
  expect(without.map(({ promise }) => promise)).toEqual([]);
});
