import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { tokenizer } from "acorn";
import { expect, test } from "vitest";
import { REVIEWED_PATTERNS } from "./reviewed-patterns.ts";

/** The regular expressions of a file, as they are written. */
function patternsIn(path: string): readonly string[] {
  const source = readFileSync(path, "utf8");
  const code = path.endsWith(".ts") ? stripTypeScriptTypes(source) : source;
  return [...tokenizer(code, { ecmaVersion: "latest", sourceType: "module" })]
    .filter(({ type }) => type.label === "regexp")
    .map(({ start, end }) => code.slice(start, end));
}

/** Without the global objects of programs: as a program's own patterns, theirs take time of the program. */
function sourcesUnder(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:ts|js)$/.test(name) && !/^(?:guest\/)?globals\b/.test(name))
    .map((name) => join(folder, name));
}

const root = join(import.meta.dirname, "..");
const PATTERNS = [join(root, "src"), join(root, "bridge")].flatMap(sourcesUnder).flatMap(patternsIn);

test("every pattern that repeats without a bound has been looked at", () => {
  const repeating = PATTERNS.filter((pattern) => /[*+]|\{\d+,\}/.test(pattern));
  expect([...new Set(repeating)].toSorted()).toEqual(Object.values(REVIEWED_PATTERNS).flat().toSorted());
});
