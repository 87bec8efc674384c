import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Namespaces } from "../../../../src/models/openai/responses/namespaces.ts";

/** Names that meet where characters are replaced, where they are cut, and where dots become `_`. */
const part = fc.constantFrom("a", "b", "a_b", "a".repeat(70), "a".repeat(71), "__proto", "B");
const name = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("."));

test("whatever tools are named, each has a namespace and a name that OpenAI accepts, and they lead back to it", () => {
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 30 }), (names) => {
      const namespaces = new Namespaces(names);
      const declared = namespaces.grouped(names.map((tool) => ({ tool, declaration: { name: tool, tool } })));
      const led = declared.flatMap((one) => {
        if (one.type !== "namespace") return [[one.tool, one.name]];
        const inner = one.tools as readonly { readonly name: string; readonly tool: string }[];
        expect([one.name, ...inner.map((tool) => tool.name)]).toEqual(
          [...Array(inner.length + 1)].map(() => expect.stringMatching(/^[\w-]{1,64}$/)),
        );
        return inner.map((tool) => [tool.tool, namespaces.own(String(one.name), tool.name)]);
      });
      expect(new Set(led.map(([tool]) => tool))).toEqual(new Set(names));
      for (const [tool, own] of led) expect(own).toBe(tool);
    }),
  );
});

test("a call in a namespace that was not declared names no tool of another", () => {
  const namespaces = new Namespaces(["billing.refund"]);
  expect(namespaces.own("billing", "pay")).toBe("billing.pay");
  expect(namespaces.own("x".repeat(400), "pay")).toHaveLength(256);
});
