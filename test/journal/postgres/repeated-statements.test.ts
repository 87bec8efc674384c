import { expect, test } from "vitest";
import { RepeatedStatements } from "../../../src/journal/postgres/connection/database.ts";

test("a statement that comes again has a name of its own from then on", () => {
  const statements = new RepeatedStatements();
  const names = ["a", "b"].map((text) => [1, 2, 3].map(() => statements.name(text, [1])));
  expect(names).toEqual([
    [undefined, "portcullis repeated 0", "portcullis repeated 0"],
    [undefined, "portcullis repeated 1", "portcullis repeated 1"],
  ]);
  expect([1, 2, 3].map(() => statements.name("BEGIN; COMMIT", []))).toEqual([undefined, undefined, undefined]);
});

test("statements that differ each time are never named, and few are", () => {
  const statements = new RepeatedStatements();
  for (let n = 0; n < 2000; n += 1) expect(statements.name(`SELECT ${n}`, [1])).toBeUndefined();
  for (let n = 0; n < 2000; n += 1) for (let again = 0; again < 2; again += 1) statements.name(`UPDATE ${n}`, [1]);
  const named = Array.from({ length: 2000 }, (_, n) => statements.name(`UPDATE ${n}`, [1])).filter(Boolean);
  expect(named.length).toBeLessThanOrEqual(64);
});
