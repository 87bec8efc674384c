import * as fc from "fast-check";
import { expect, expectTypeOf, test } from "vitest";
import {
  callback,
  defaultsOf,
  flag,
  oneOf,
  option,
  type OptionsOf,
  readOptions,
  required,
  text,
  wholeNumber,
  withDefault,
} from "../../../src/base/index.ts";

const RULES = {
  /** Rounds of a cycle. */
  rounds: wholeNumber({ min: 1, max: 100, default: 20 }),
  name: required(text({ maxLength: 8 })),
  mode: withDefault(oneOf(["fast", "safe"]), "safe"),
  quiet: flag(),
  onEnd: callback<(count: number) => void>(),
  at: option<Date>("a date", (value) => value instanceof Date),
};

const read = (options: unknown) => readOptions("makeCycle", options, RULES);
const fails = (options: unknown) => {
  try {
    read(options);
  } catch (error) {
    return error;
  }
  return undefined;
};

test("defaults hold where nothing is said, and what was said elsewhere", () => {
  expect(read({ name: "one" })).toEqual({ name: "one", rounds: 20, mode: "safe" });
  const at = new Date(0);
  expect(read({ name: "one", rounds: 3, mode: "fast", quiet: false, at })).toEqual({
    name: "one",
    rounds: 3,
    mode: "fast",
    quiet: false,
    at,
  });
  expect(defaultsOf(RULES)).toEqual({ rounds: 20, mode: "safe" });
});

test("an option that is undefined counts as left out", () => {
  expect(read({ name: "one", rounds: undefined, quiet: undefined })).toEqual({ name: "one", rounds: 20, mode: "safe" });
});

test.each([
  [undefined, "makeCycle(options): expected an object, got undefined."],
  [null, "makeCycle(options): expected an object, got null."],
  [{}, "makeCycle({ name }): expected a non-empty string, got undefined."],
  [{ name: "one", rounds: 0 }, "makeCycle({ rounds }): expected a whole number from 1 to 100, got 0."],
  [{ name: "one", rounds: 1.5 }, "makeCycle({ rounds }): expected a whole number from 1 to 100, got 1.5."],
  [{ name: "one", rounds: "3" }, 'makeCycle({ rounds }): expected a whole number from 1 to 100, got "3".'],
  [{ name: "one", mode: "slow" }, 'makeCycle({ mode }): expected "fast" or "safe", got "slow".'],
  [{ name: "one", quiet: 1 }, "makeCycle({ quiet }): expected true or false, got 1."],
  [{ name: "one", onEnd: {} }, "makeCycle({ onEnd }): expected a function, got {}."],
  [
    { name: "one", round: 3 },
    'makeCycle: there is no option "round", did you mean rounds? The options are rounds, name, mode, quiet, onEnd, at.',
  ],
  [
    { name: "one", constructor: 3 },
    'makeCycle: there is no option "constructor". The options are rounds, name, mode, quiet, onEnd, at.',
  ],
])("%j is refused with a sentence", (options, message) => {
  expect(fails(options)).toMatchObject({ code: "option_invalid", message });
});

test("whatever is given is accepted with exactly its options, or refused as option_invalid", () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true, withMap: true, withDate: true }), (options) => {
      expect(fails(options)).toMatchObject({ code: "option_invalid" });
    }),
  );
});

test("the types of options come from their rules", () => {
  type Options = OptionsOf<typeof RULES>;
  expectTypeOf<Options["name"]>().toEqualTypeOf<string>();
  expectTypeOf<Options["mode"]>().toEqualTypeOf<"fast" | "safe" | undefined>();
  expectTypeOf<ReturnType<typeof read>["rounds"]>().toEqualTypeOf<number>();
  expectTypeOf<ReturnType<typeof read>["onEnd"]>().toEqualTypeOf<((count: number) => void) | undefined>();
  // @ts-expect-error the name is required
  const options: Options = { rounds: 3 };
  expect(fails(options)).toBeDefined();
});
