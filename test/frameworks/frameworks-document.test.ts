import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { AS_TOOL_RULES, LOOP_NAMES } from "../../src/frameworks/loops.ts";

const document = readFileSync(fileURLToPath(new URL("../../docs/frameworks.md", import.meta.url)), "utf8");
const snippets = [...document.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code = ""]) => code);
const rows = [...document.matchAll(/^\| .*? \| `"([\w-]+)"` +\| +(\d+) \|/gm)].map(([, loop, lines]) => ({
  loop,
  lines: Number(lines),
}));

test("the document has a row and a snippet for each loop, with at most five lines of ours", () => {
  const ours = /portcullis|runtime|run_program/;
  const counted = LOOP_NAMES.map((loop) => {
    const code = snippets.find((snippet) => snippet.includes(`asTool("${loop}")`)) ?? "";
    return { loop, lines: code.split("\n").filter((line) => ours.test(line)).length };
  });
  expect(rows).toEqual(counted);
  for (const { lines } of counted) expect(lines).toBeLessThanOrEqual(5);
});

test("the document names every option of asTool", () => {
  for (const name of Object.keys(AS_TOOL_RULES)) expect(document).toContain(`{ ${name} }`);
});
