import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ToolNames } from "../../../src/models/turn/tool-names.ts";

test("X1: a name with dots is sent as one that every provider accepts, and mapped back", () => {
  const names = new ToolNames(["admin.tools.list"]);
  expect(names.given("admin.tools.list")).toBe("admin_tools_list");
  expect(names.own("admin_tools_list")).toBe("admin.tools.list");
});

test("X1: names that would become equal get different suffixes", () => {
  const own = ["a.b_c", "a_b.c", "a_b_c", "x".repeat(128), `${"x".repeat(127)}y`];
  const names = new ToolNames(own);
  const given = own.map((name) => names.given(name));
  expect(new Set(given).size).toBe(own.length);
  expect(given[2]).toBe("a_b_c");
  for (const [index, name] of given.entries()) {
    expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(names.own(name)).toBe(own[index]);
  }
});

test("X1: a name that equals the changed form of another gets a different one", () => {
  const changed = new ToolNames(["a.b", "a_b"]).given("a.b");
  const names = new ToolNames(["a.b", "a_b", changed]);
  expect(names.own(names.given("a.b"))).toBe("a.b");
  expect(names.own(names.given(changed))).toBe(changed);
});

test("X1: any names become valid and different, and map back", () => {
  const name = fc.stringMatching(/^[a-c._]{1,70}$/);
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 20 }), (own) => {
      const names = new ToolNames(own);
      expect(new Set(own.map((one) => names.given(one))).size).toBe(own.length);
      for (const one of own) expect(names.own(names.given(one))).toBe(one);
    }),
  );
});

test("a word that is not a tool's name is kept, up to a length", () => {
  const names = new ToolNames(["a.b"]);
  expect([names.own("a.b"), names.own("__proto__"), names.own("x".repeat(9999)).length]).toEqual([
    "a.b",
    "__proto__",
    256,
  ]);
});
