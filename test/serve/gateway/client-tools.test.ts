import * as fc from "fast-check";
import { expect, test } from "vitest";
import { defineTextTool } from "../../../src/index.ts";
import { type AskedTool, groupedName, RefusedAsk } from "../../../src/serve/gateway/surface/surface.ts";
import { type ClientTools, clientTools } from "../../../src/serve/gateway/client-tools.ts";
import { toolNameFault } from "../../../src/tools/tool-name.ts";

const tool = (name: string, more: Partial<AskedTool> = {}): AskedTool => ({
  name,
  description: "",
  inputSchema: { type: "object" },
  callers: ["direct"],
  isDeferred: false,
  place: "tools.0",
  ...more,
});

/** The tools of a request, whose making pauses. */
function made(tools: readonly AskedTool[]): ClientTools {
  const work = clientTools(tools);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

test("each tool gets a name of its own that programs can write, and is found by the client's", () => {
  const name = fc.oneof(
    fc.stringMatching(/^[a-zA-Z0-9_-]{1,128}$/),
    fc.constantFrom("run_program", "search_tools", "then", "__proto__", "a-b", "a_b", "1"),
  );
  const named = fc.record({ name, namespace: fc.option(name, { nil: undefined }) });
  const all = fc.uniqueArray(named, { selector: ({ name: one, namespace }) => `${namespace} ${one}`, maxLength: 20 });
  fc.assert(
    fc.property(all, (asked) => {
      const tools = made(
        asked.map(({ name: one, namespace }) => tool(one, namespace === undefined ? {} : { namespace })),
      );
      expect(new Set(tools.all.map((one) => one.name)).size).toBe(asked.length);
      for (const one of tools.all) expect([toolNameFault(one.name), one.execute]).toEqual([undefined, "client"]);
      for (const { name: one, namespace } of asked)
        expect(tools.clientTool(tools.own(namespace === undefined ? one : groupedName(namespace, one)))).toMatchObject({
          name: one,
        });
    }),
  );
});

test("a name that can be written stays, and a schema that cannot be checked is refused with its place", () => {
  expect(made([tool("get_stock")]).all[0]?.name).toBe("get_stock");
  const broken = () => made([tool("f", { inputSchema: { type: "object", $ref: "#/nowhere" } })]);
  expect(broken).toThrow(RefusedAsk);
  expect(broken).toThrow("tools.0: ");
});

/** A pattern of some hundred states in a dozen characters, which no other tool has. */
const hungry = (index: number) => `^(?:ab${index}?){90}$`;
const MANY = Array.from({ length: 1000 }, (_, index) => index);

test.each<[string, (index: number) => Partial<AskedTool>]>([
  ["inputs", (index) => ({ inputSchema: { type: "object", properties: { a: { pattern: hungry(index) } } } })],
  ["outputs", (index) => ({ outputSchema: { patternProperties: { [hungry(index)]: {} } } })],
  ["formats of texts", (index) => ({ textFormat: { regex: hungry(index) } })],
  [
    "properties",
    (index) => ({ inputSchema: { type: "object", propertyNames: { pattern: `[\\p{L}\\p{N}\\p{S}]{${index}}` } } }),
  ],
])("the patterns in the %s of one request's tools have a bound together", (_, more) => {
  const tools = MANY.map((index) => tool(`t${index}`, { ...more(index), place: `tools.${index}` }));
  expect(() => made(tools)).toThrow(/^tools\.\d+: .*have more than 100000 together/);
  expect(made(tools.slice(0, 100)).all).toHaveLength(100);
});

test("the thread is free after each tool of a request", () => {
  const work = clientTools(MANY.map((index) => tool(`t${index}`)));
  const pauses = MANY.map(() => work.next().done);
  expect([pauses.includes(true), work.next().done]).toEqual([false, true]);
});

test("the check of a text against a client's expression has fewer steps than one against the host's own", () => {
  const textFormat = { regex: "[^;]*" };
  const text = "x".repeat(1_000_000);
  const [asked] = made([tool("t", { textFormat })]).all;
  expect(asked?.inputSchema["~standard"].validate(text)).toHaveProperty("issues");
  expect(asked?.inputSchema["~standard"].validate(text.slice(0, 100_000))).not.toHaveProperty("issues");
  const own = defineTextTool({
    name: "t",
    description: "Takes a text.",
    format: textFormat,
    effect: "read",
    allowedCallers: ["direct"],
    execute: () => null,
  });
  expect(own.inputSchema["~standard"].validate(text)).not.toHaveProperty("issues");
});
