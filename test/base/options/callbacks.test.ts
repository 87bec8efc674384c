import { expect, test } from "vitest";
import { checkOptions } from "../../../src/base/index.ts";
import { entriesOf, OPTIONS_OBJECTS } from "../../documents/option-tables.ts";
import { failing, throws } from "../../support/failing.ts";

/** Functions that do the work itself: whoever calls them says what their errors mean. Any other function is guarded by its rule. */
const WORKERS = [
  "runtime.asTool(loop, options) interrupt",
  "defineTool(options) execute",
  "anthropic, openai, openaiChat and gemini fetch",
  "createMemorySandbox(options) guest",
];
/** Options of loops: they are asked inside a policy, which is guarded. */
const IN_POLICIES = ["runtime.asTool(loop, options) toolApproval", "runtime.asTool(loop, options) needsApproval"];

/** Schemas of some libraries are functions. */
const isSchema = (name: string) => name === "result" || name === "answer";

const rules = await Promise.all(
  Object.values(OPTIONS_OBJECTS)
    .flat()
    .map(async (object) => ({ object, entries: await entriesOf(object) })),
);
const callbacks = rules.flatMap(({ object, entries }) =>
  entries
    .filter(({ name, rule }) => rule.accepts(() => undefined) && !rule.accepts(Symbol("anything")) && !isSchema(name))
    .map(({ name, rule }) => ({ title: `${object.title} ${name}`, name, rule })),
);
const guarded = callbacks.filter(({ rule }) => rule.guard);

test("each option that takes a function says by its rule what becomes of the function's errors", () => {
  const bare = callbacks.filter(({ rule }) => !rule.guard).map(({ title }) => title);
  expect(bare).toEqual([...IN_POLICIES, ...WORKERS]);
  expect(guarded.length).toBeGreaterThan(30);
});

function given(name: string, rule: (typeof guarded)[number]["rule"], callback: () => unknown) {
  const read = checkOptions("f", { [name]: callback }, { [name]: { ...rule, presence: "optional" } });
  return read[name] as () => unknown;
}
const broken = new Error("db down: 10.0.0.7");

test.each(guarded)(
  "of $title an error has the code callback_failed, or is ignored, and its promise rejects for nobody else",
  async ({ name, rule }) => {
    const fails = given(name, rule, throws(broken));
    const rejects = given(name, rule, () => Promise.reject(broken));
    const failed = { ...failing("callback_failed", `\`${name}\` failed`), cause: broken };
    const isTold = /^on[A-Z]/.test(name) && name !== "onAddress";
    if (isTold) expect([fails(), await rejects()]).toEqual([undefined, undefined]);
    else {
      expect(fails).toThrow(expect.objectContaining(failed));
      await expect(rejects()).rejects.toMatchObject(failed);
    }
    // Nobody waits for this one: if it counted as unhandled, the run would fail.
    void rejects();
  },
);

test("a function that is given twice is guarded once", () => {
  const embed = guarded.find(({ name }) => name === "embed");
  const callback = () => [];
  if (!embed) throw new Error("There is no embed.");
  const once = given("embed", embed.rule, callback);
  expect(given("embed", embed.rule, callback)).toBe(once);
  expect(given("embed", embed.rule, once)).toBe(once);
});
