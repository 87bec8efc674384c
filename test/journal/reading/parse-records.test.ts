import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseRecords } from "../../../src/journal/reading/parse-records.ts";
import { header, outcome, RECORDS } from "../records.ts";

const records = () => [header("one"), ...RECORDS, outcome];

test("every kind of record is read as it was written", () => {
  expect(parseRecords(JSON.parse(JSON.stringify(records())))).toEqual(records());
});

test("records of another format are refused with what to do", () => {
  expect(() => parseRecords([{ ...header("one"), format: 2 }])).toThrow(
    expect.objectContaining({
      code: "journal_version",
      message: expect.stringMatching(/format 2.*format 1/),
    }),
  );
});

test.for<[string, unknown, RegExp]>([
  ["no list", {}, /expected the records of one execution/],
  ["nothing", [], /expected the records of one execution/],
  ["no header first", [outcome], /record 0: expected a header/],
  ["two headers", [header("one"), header("one")], /record 1: an execution has one header/],
  [
    "a record of a type that is not known",
    [header("one"), { type: "note", at: 1 }],
    /record 1: there is no record of type "note"/,
  ],
  [
    "a type that every object has",
    [header("one"), { type: "constructor" }],
    /record 1: there is no record of type "constructor"/,
  ],
  ["no object", [header("one"), null], /record 1: there is no record of type "undefined"/],
  ["a field too many", [header("one"), { ...outcome, extra: 1 }], /record 1, outcome: /],
  ["a field that is missing", [header("one"), { type: "outcome", at: 1 }], /record 1, outcome \(outcome\): /],
  ["a field of another type", [header("one"), { ...outcome, at: "1" }], /record 1, outcome \(at\): /],
  [
    "a start that is no date",
    [header("one", { startedAt: 8.64e15 + 1 })],
    /record 0, header \(program\) \(startedAt\)/,
  ],
  ["an id that no store keeps as it is", [header("\ud800")], /record 0, header \(program\) \(execution\)/],
  ["a tenant that no store keeps as it is", [header("one", { tenant: "\udfff" })], /\(tenant\).*lone surrogate/],
  ["a time that is no whole number", [header("one"), { ...outcome, at: 0.5 }], /record 1, outcome \(at\): /],
  [
    "a lease without an end",
    [header("one"), { type: "claim", driver: "d", leaseMs: 1e300, at: 1 }],
    /record 1, claim \(leaseMs\): /,
  ],
  [
    "a result with a value and an error",
    [header("one"), { type: "result", call: "1", value: "1", error: "x", at: 1 }],
    /either value or error/,
  ],
])("%s is refused, with its place", ([, values, message]) => {
  expect(() => parseRecords(values)).toThrow(
    expect.objectContaining({ code: "journal_invalid", message: expect.stringMatching(message) }),
  );
});

test("any record is refused with an error of this package, or read unchanged", () => {
  const field = fc.oneof(fc.jsonValue(), fc.constantFrom("header", "turn", "program", "call", 1));
  const record = fc.dictionary(
    fc.constantFrom("type", "kind", "format", "at", "call", "event", "commands", "detail"),
    field,
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(record, fc.constantFrom(...records()))), (values) => {
      try {
        expect(parseRecords(values)).toEqual(values);
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/^journal_(invalid|version)$/) });
      }
    }),
  );
});
