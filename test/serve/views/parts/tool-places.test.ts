import * as fc from "fast-check";
import { expect, test } from "vitest";
import { toolPlaces, writtenTools } from "../../../../src/serve/views/parts/tool-places.ts";

test("each line that writes a tool by its whole name is found, and no other", () => {
  const source = [
    "await tools.crm.find({});",
    "tools.crm.finder(); mytools.crm.find(); tools.crm.find$();",
    "globalThis.tools.crm.find.call(0); tools.crm.find()",
    "tools.crm; save('x', 1); tools.save; unsaved();",
    "`${tools.crm.find}` + searchTools",
  ].join("\n");
  const tools = ["crm.find", "crm", "save_artifact", "search_tools", "none"];
  expect(toolPlaces(source, tools)).toEqual([
    { tool: "crm.find", lines: [1, 3, 5] },
    { tool: "crm", lines: [2, 4] },
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

test("names are looked up as often as paths are written, however many tools there are and however long a path is", () => {
  const paths = [
    "tools.a",
    "tools.tools.tools",
    "tools.a.b.c.d.e.f.g",
    "tools..a",
    "tools.a$",
    `tools${".a".repeat(900)}`,
  ];
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...paths), fc.string()), { maxLength: 50 }), (parts) => {
      const source = parts.join("\n");
      let looked = 0;
      const names = { has: (name: string) => (looked += name.length) < 0 };
      writtenTools(source, names);
      expect(looked).toBeLessThanOrEqual(5 * source.length);
    }),
  );
});
