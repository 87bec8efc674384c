import { expect, test } from "vitest";
import { toolPlaces, writtenTools } from "../../../../src/serve/views/parts/tool-places.ts";

test("each line that writes a tool by its whole name is found, and no other", () => {
  const source = [
    "await tools.crm.find({});",
    "tools.crm.finder(); mytools.crm.find(); tools.crm.find$();",
    "globalThis.tools.crm.find(0); tools.crm.find()",
    "tools.crm; save('x', 1); tools.save; unsaved();",
    "`${tools.crm.find}` + searchTools",
  ].join("\n");
  const tools = ["crm.find", "crm", "save_artifact", "search_tools", "none"];
  expect(toolPlaces(source, tools)).toEqual([
    { tool: "crm.find", lines: [1, 3, 5] },
    { tool: "crm", lines: [4] },
    { tool: "save_artifact", lines: [4] },
    { tool: "search_tools", lines: [5] },
    { tool: "none", lines: [] },
  ]);
  expect([...writtenTools(source, new Set(tools))].toSorted()).toEqual([
    "crm",
    "crm.find",
    "save_artifact",
    "search_tools",
  ]);
});
