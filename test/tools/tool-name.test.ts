import { expect, test } from "vitest";
import { toolNameFault } from "../../src/tools/tool-name.ts";

test.each([
  ..."a billing.listInvoices a.b.c.d _private A1_ new tools größe 查询天气 календарь.найти".split(" "),
  "x".repeat(128),
])("a tool may be called %s", (name) => {
  expect(toolNameFault(name)).toBeUndefined();
});

test.each<readonly [string, string]>([
  ...["", "a..b", ".a", "a."].map((name) => [name, ""] as const),
  ["a.2", "2"],
  ...["1a", "a-b", "a b", "a\n", "$", "gro\u0308\u00dfe", "ﬁnd", "a\u3164", "a🔥", "a/b", "a[0]"].map(
    (name) => [name, name] as const,
  ),
])("the name %j is no path of identifiers", (name, part) => {
  expect(toolNameFault(name)).toBe(
    `${JSON.stringify(part)} is not an identifier: programs reach a tool as tools.${name}, so every part between dots is letters, digits and _, and does not begin with a digit`,
  );
});

test.each(["__proto__", "constructor", "prototype", "then", "toJSON", "toString", "valueOf", "hasOwnProperty"])(
  "%s is reserved, at any place of a name",
  (word) => {
    for (const name of [word, `a.${word}`, `${word}.a`, `a.${word}.b`])
      expect(toolNameFault(name)).toBe(`"${word}" is reserved`);
  },
);

test("a name with a character that hides or turns is no path of identifiers", () => {
  for (const character of ["\u202e", "\u200b", "\u0000", "\u001b", "\u034f", "\ufe0f"]) {
    expect(toolNameFault(`a${character}`)).toContain("is not an identifier");
    expect(toolNameFault(`${character}a`)).toContain("is not an identifier");
  }
});

test("a name has at most 128 characters", () => {
  expect(toolNameFault("x".repeat(129))).toBe("it has 129 characters, at most 128 are allowed");
});
