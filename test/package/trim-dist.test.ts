import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { nameClashes } from "../../trim-dist.js";
import { root } from "../support/snippets.ts";

test("no two sources are built into one file, and the build names those that would be", () => {
  expect(nameClashes(["src/a/read.ts", "src/a/read.js", "src/b/read.ts", "src/a/read.types.ts"])).toEqual([
    ["src/a/read.ts", "src/a/read.js"],
  ]);
  const sources = globSync(["src/**/*.{ts,js}", "bridge/*.ts", "examples/**/*.ts"], { cwd: root });
  expect(sources.length).toBeGreaterThan(300);
  expect(nameClashes(sources)).toEqual([]);
});
