import * as fc from "fast-check";
import { expect, test } from "vitest";
import { wholly } from "../../../src/base/index.ts";
import type { ExecutionView } from "../../../src/serve/views/view.ts";
import { applyPatch } from "../../../src/serve/views/patched-view.ts";
import { patchOf } from "../../../src/serve/views/view-patch.ts";

const value = fc.oneof(
  fc.constantFrom(1, 2, "a", "b", true, null),
  fc.record({ text: fc.constantFrom("a", "b"), more: fc.constantFrom([1], [2], { x: 1 }, { y: 1 }) }),
);
const views = fc.dictionary(
  fc.constantFrom("state", "calls", "turns", "output", "outcome"),
  fc.oneof(value, fc.array(value, { maxLength: 5 })),
) as fc.Arbitrary<unknown> as fc.Arbitrary<ExecutionView>;

test("a view with its patch, as it travels, is the later view, and neither view is changed", () => {
  fc.assert(
    fc.property(views, views, (before, after) => {
      const [one, other] = [JSON.stringify(before), JSON.stringify(after)];
      const patch = wholly(patchOf(before, after));
      const sent = patch && (JSON.parse(JSON.stringify(patch)) as typeof patch);
      expect(sent ? applyPatch(before, sent) : before).toEqual(after);
      expect([JSON.stringify(before), JSON.stringify(after)]).toEqual([one, other]);
    }),
  );
});

test("views that are equal have no patch, also if a field has no value", () => {
  const view = () => ({ state: "running", outcome: undefined, calls: [{ id: "1", input: { text: "{}" } }] });
  expect(wholly(patchOf(view() as never, view() as never))).toBeUndefined();
});
