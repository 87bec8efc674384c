import { globSync, readFileSync } from "node:fs";
import { assert, property, string } from "fast-check";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { writeStderr } from "../../../src/cli/terminal/standard-streams.ts";
import { anyCharacter } from "../../support/any-character.ts";

const written = vi.spyOn(process.stderr, "write");
afterEach(() => void written.mockReset());
afterAll(() => written.mockRestore());

test("whatever a text is, it reaches the terminal without a control character but tabs and line breaks", () => {
  const texts: unknown[] = [];
  written.mockImplementation((text) => texts.push(text) > 0);
  const anything = string({ unit: anyCharacter });
  assert(property(anything, (text) => writeStderr(`Not resumed: ${text}\u001b[2J\n`)));
  expect(texts.length).toBeGreaterThan(0);
  for (const text of texts) expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202e]/);
});

test("every text of the command line goes through the functions that clean it", () => {
  const direct = globSync("src/{cli,serve,host,output,frameworks,mcp-runs,gate}/**/*.ts").filter(
    (file) =>
      !file.endsWith("cli/terminal/standard-streams.ts") &&
      /process\s*\.\s*std(?:out|err)\s*\.\s*write|console\s*\.\s*(?:log|info|warn|debug)\(/.test(
        // Without comments, and without texts that only name a function.
        readFileSync(file, "utf8")
          .replaceAll(/^\s*(?:\*|\/\/|\/\*).*$/gm, "")
          .replaceAll(/"[^"`\n]*"/g, '""'),
      ),
  );
  expect(direct).toEqual([]);
});
