import { expect, test } from "vitest";
import { declarePrograms } from "../../../src/agent/calls/run-program.ts";
import { DEFAULT_LIMITS } from "../../../src/programs/limits.ts";
import type { ProgramLanguage } from "../../../src/tools/declarations/declarations.ts";
import { ToolSearch } from "../../../src/tools/search/tool-search.ts";
import { ToolSet } from "../../../src/tools/tool-set.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { tool } from "../../support/tools.ts";

const rows: Tool = { ...tool("rows", () => []), stream: true };
const row = tool("row", () => 1);

function descriptionOf(tools: readonly Tool[], language: ProgramLanguage, stubTokens?: number): string {
  const search = new ToolSearch(new ToolSet(tools), { stubTokens });
  const situation = { tenant: "", limits: DEFAULT_LIMITS, shares: false };
  return declarePrograms(search, language, situation).runProgram.description;
}

test.each<[ProgramLanguage, string]>([
  ["javascript", "for await (const item of tools.name(input))"],
  ["python", "async for item in tools.name(...)"],
])("a model that writes %s is told how a stream is read, if a program can have one", (language, words) => {
  expect(descriptionOf([row, rows], language)).toContain(words);
  expect(descriptionOf([row, rows], language, 1)).toContain(words);
  expect(descriptionOf([row], language)).not.toContain("stream");
  expect(descriptionOf([row, { ...rows, allowedCallers: ["direct"] }], language)).not.toContain("stream");
});
