import { expect, test } from "vitest";
import { PortcullisError } from "../../src/base/index.ts";
import { type Caller, type Tool } from "../../src/index.ts";
import { isVisible, ToolSet } from "../../src/tools/tool-set.ts";
import { makeTool } from "../support/tools.ts";

function tool(name: string, ...allowedCallers: Caller[]): Tool {
  return makeTool({ name, allowedCallers: allowedCallers.length === 0 ? ["programmatic"] : allowedCallers });
}

function refusal(tools: unknown): readonly [string, string] {
  try {
    return ["none", `${new ToolSet(tools as readonly Tool[]).all.length} tools`];
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    return [error.code, error.message];
  }
}

test.each([
  [["a", "a"], 'Two tools are named "a": rename one.'],
  [["a", "a.b"], '"a" cannot be a tool beside "a.b", whose namespace has the same name: rename one.'],
  [["a.b.c", "a"], '"a" cannot be a tool beside "a.b.c", whose namespace has the same name: rename one.'],
  [["x", "a.b.c.d", "a.b"], '"a.b" cannot be a tool beside "a.b.c.d", whose namespace has the same name: rename one.'],
])("tools called %j have conflicting names", (names, message) => {
  expect(refusal(names.map((name) => tool(name)))).toEqual(["tools_conflict", message]);
});

test("names that only begin alike do not conflict", () => {
  expect(new ToolSet(["a", "ab", "ab2.c", "b.a", "b.ab"].map((name) => tool(name))).all).toHaveLength(5);
});

test.each(["__proto__", "constructor", "then", "a b", "a..b", "", "0x", "x.__proto__.y"])(
  "a tool that was made by hand with the name %j is refused",
  (name) => {
    const [code, message] = refusal([{ ...tool("a"), name }]) ?? [];
    expect(code).toBe("tool_invalid");
    expect(message).toMatch(`"${name}" cannot be the name of a tool: `);
  },
);

const set = new ToolSet([
  tool("mail.send", "direct"),
  tool("mail.sent", "programmatic"),
  tool("mail.seen", "direct", "programmatic"),
]);
const names = (tools: readonly Tool[]) => tools.map(({ name }) => name);

test.each<[readonly Caller[], readonly string[]]>([
  [["direct"], ["mail.send", "mail.seen"]],
  [["programmatic"], ["mail.sent", "mail.seen"]],
  [
    ["direct", "programmatic"],
    ["mail.send", "mail.sent", "mail.seen"],
  ],
  [[], []],
])("who may act as %j knows of the tools for these callers, and of no others", (callers, visible) => {
  expect(names(set.visibleTo(callers))).toEqual(visible);
  expect(names(set.all.filter((one) => isVisible(one, callers)))).toEqual(visible);
});

test("the name nearest to one that was not found is of a tool that the caller may call", () => {
  expect(set.nearestName("mail.sen", "programmatic")).toBe("mail.seen");
  expect(set.nearestName("mail.sendd", "direct")).toBe("mail.send");
});

test("a tool that changes something is proposed for a slip of a letter alone, and none in place of it", () => {
  const bikes = new ToolSet(
    ["bikes.create", "bikes.replace"].map((name) => ({ ...tool(name), effect: "write" }) as const),
  );
  expect(bikes.nearestName("bikes.remove", "programmatic")).toBeUndefined();
  expect(bikes.nearestName("bikes.craete", "programmatic")).toBe("bikes.create");
});

test.each(["mail", "mail.", "toString", "__proto__", "constructor", "MAIL.SEND", "mail.send ", ""])(
  "%j is the name of no tool",
  (name) => {
    expect(set.get(name)).toBeUndefined();
  },
);
