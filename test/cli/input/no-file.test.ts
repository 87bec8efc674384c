import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { noFile, requireFile } from "../../../src/cli/input/no-file.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
afterAll(() => rmSync(folder, { recursive: true }));
for (const name of ["tools.ts", "a\u001b[2J.json"]) writeFileSync(join(folder, name), "");

test("a file of the same folder that may have been meant is named as the missing one was", () => {
  expect(noFile(`${folder}/tolos.ts`)).toBe(`there is no file ${folder}/tolos.ts. Did you mean ${folder}/tools.ts?`);
  expect(noFile(`${folder}/other.py`)).toBe(`there is no file ${folder}/other.py.`);
  expect(noFile(`${folder}/none/tools.ts`)).toBe(`there is no file ${folder}/none/tools.ts.`);
});

test("no name of a file controls the terminal", () => {
  expect(noFile(`${folder}/b\u001b[2J.json`)).not.toContain("\u001b");
});

test("only a file that is missing is refused", () => {
  expect(() => requireFile("--mcp", `${folder}/tools.ts`)).not.toThrow();
  expect(() => requireFile("--mcp", `${folder}/tool.ts`)).toThrow(/^--mcp: there is no file .* Did you mean /);
});
