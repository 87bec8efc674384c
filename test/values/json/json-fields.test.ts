import * as fc from "fast-check";
import { expect, test } from "vitest";
import { entryTexts, fieldTexts } from "../../../src/values/json/json-fields.ts";
import type { SlicedWork } from "../../../src/values/slice-scheduler.ts";
import { anyCharacter } from "../../support/any-character.ts";

function run<Value>(work: SlicedWork<Value>): { readonly value: Value; readonly pauses: number } {
  for (let pauses = 0; ; pauses += 1) {
    const { done, value } = work.next();
    if (done) return { value, pauses };
  }
}

test("the fields of any record are found as JSON.parse finds them, however they are spaced", () => {
  const records = fc.dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue());
  fc.assert(
    fc.property(records, fc.constantFrom(undefined, 1, "\t"), (record, space) => {
      const text = JSON.stringify(record, undefined, space);
      const fields = run(fieldTexts(text)).value;
      const parsed = JSON.parse(text) as Readonly<Record<string, unknown>>;
      expect([...(fields ?? [])].map(([name, field]) => [name, JSON.parse(field) as unknown])).toEqual(
        Object.keys(parsed).length === 0 ? [] : expect.arrayContaining(Object.entries(parsed)),
      );
      expect(fields?.size).toBe(Object.keys(parsed).length);
    }),
  );
});

test("any text is read to an end, and what is no record has no fields", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...Array.from('{}[]",:\\a1 ')) }),
      (text) => void run(fieldTexts(text)),
    ),
  );
  for (const text of ["", "1", "[]", '"{}"', '{"a":1', '{"a":1}}', '{"a":1} x', "{a:1}", '{"a":1,"b', "{1:2}"])
    expect(run(fieldTexts(text)).value).toBeUndefined();
});

test("the thread is given to others while millions of values are passed over", () => {
  const list = `[${"[],".repeat(500_000)}"}],\\"{["]`;
  const { value, pauses } = run(fieldTexts(`{"type":"completed","value":${list}}`));
  expect(value?.get("value") === list).toBe(true);
  expect(value?.get("type")).toBe('"completed"');
  expect(pauses).toBeGreaterThan(20);
});

test("the entries of any list are found as JSON.parse finds them, and no more than are asked for", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, "\t"), fc.nat(5), (list, space, most) => {
      const text = JSON.stringify(list, undefined, space);
      const parsed = (found: readonly string[] = []) => found.map((entry) => JSON.parse(entry) as unknown);
      const whole = JSON.parse(text) as readonly unknown[];
      expect(parsed(run(entryTexts(text)).value)).toEqual(whole);
      expect(parsed(run(entryTexts(text, most)).value)).toEqual(whole.slice(0, most));
    }),
  );
  for (const text of ["", "1", "{}", "[1", '["a', "[[]", " []"]) expect(run(entryTexts(text)).value).toBeUndefined();
});
