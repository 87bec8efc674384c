import { expect, test } from "vitest";
import { readGrant } from "../../../src/gate/approve/grant-terms.ts";
import { failing } from "../../support/failing.ts";

const CALL = { amount: 20, to: "ann", lines: [{ "a/b": 1 }], note: null };
const LATER = Date.now() + 60_000;

test("a grant is kept as it is given", () => {
  const terms = { calls: 20, sums: { "/amount": 500 }, untilMs: LATER };
  expect(readGrant("grant", terms, CALL)).toEqual(terms);
});

test("sums may be of any number of the call, and of a text that may stand for a redacted number", () => {
  const sums = { "/amount": 500, "/lines/0/a~1b": 3, "/to": 1 };
  expect(readGrant("grant", { sums }, CALL)).toEqual({ sums });
});

test.each<[string, unknown, string]>([
  ["none", undefined, "grant: expected an object like"],
  ["a number", 20, "grant: expected an object like"],
  ["an empty one", {}, "at least one of calls, sums and untilMs"],
  ["no calls", { calls: 0 }, "grant.calls"],
  ["half a call", { calls: 1.5 }, "grant.calls"],
  ["calls without end", { calls: Number.POSITIVE_INFINITY }, "grant.calls"],
  ["a negative sum", { sums: { "/amount": -1 } }, "grant.sums"],
  ["a sum that is no number", { sums: { "/amount": "500" } }, "grant.sums"],
  ["a sum that is not finite", { sums: { "/amount": Number.NaN } }, "grant.sums"],
  ["sums of nothing", { sums: {} }, "grant.sums"],
  ["a sum of no pointer", { sums: { amount: 500 } }, "grant.sums"],
  ["a sum of a broken pointer", { sums: { "/a~2": 500 } }, "grant.sums"],
  ["a sum of a field that the call does not have", { sums: { "/amuont": 500 } }, 'got "/amuont"'],
  ["a sum of no field of a list", { sums: { "/lines/1/a~1b": 500 } }, "pointers to numbers in the input of the call"],
  ["a sum of what is no number", { calls: 5, sums: { "/amount": 500, "/note": 1 } }, 'got "/note"'],
  ["a list of sums", { sums: [500] }, "grant.sums"],
  ["too many sums", { sums: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`/${n}`, 1])) }, "grant.sums"],
  ["a time that is over", { untilMs: 1 }, "grant.untilMs"],
  ["a time that is none", { untilMs: "18:00" }, "grant.untilMs"],
  ["a misspelt field", { call: 20 }, "did you mean calls?"],
  ["a schema of inputs", { calls: 5, input: { type: "object" } }, "grant"],
])("%s is refused", (_, given, message) => {
  expect(() => readGrant("grant", given, CALL)).toThrowError(
    expect.objectContaining(failing("option_invalid", message)),
  );
});
