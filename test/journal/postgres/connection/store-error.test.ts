import { expect, test } from "vitest";
import { PortcullisError } from "../../../../src/errors.ts";
import { faultOf, storeError } from "../../../../src/journal/postgres/connection/store-error.ts";

const coded = (code: string) => Object.assign(new Error(`an error ${code}`), { code });

test.each([
  ["ECONNREFUSED", "lost"],
  ["57P01", "lost"],
  ["08006", "lost"],
  ["57014", "later"],
  ["40P01", "later"],
  ["25006", "later"],
  ["23505", "refused"],
  ["28P01", "refused"],
])("%s means that a statement is %s", (code, fault) => {
  expect(faultOf(coded(code))).toBe(fault);
  expect(faultOf(new AggregateError([coded(code)]))).toBe(fault);
});

test("an error of pg without a code is of the connection, and one of this package or another is not", () => {
  expect(faultOf(new Error("Connection terminated unexpectedly"))).toBe("lost");
  expect(faultOf(new Error("Query read timeout"))).toBe("lost");
  expect(faultOf(new PortcullisError("head_moved", "connection"))).toBe("refused");
  expect(faultOf(new TypeError("x is no function"))).toBe("refused");
});

test.each([
  ["28P01", "journal_unavailable"],
  ["3D000", "journal_unavailable"],
  ["42501", "journal_read_only"],
  ["53100", "journal_full"],
  ["XX001", "journal_corrupt"],
])("%s is told as %s, with what to do", (code, expected) => {
  expect(storeError(coded(code), "postgres://db/work")).toMatchObject({
    code: expected,
    message: expect.stringContaining("postgres://db/work") as string,
  });
});

test("a missing table is damage if it is the journal's, and PostgreSQL's own error if it is another's", () => {
  const missing = (table: string) => Object.assign(new Error(`relation "${table}" does not exist`), { code: "42P01" });
  expect(storeError(missing("portcullis.executions"), "")).toMatchObject({ code: "journal_corrupt" });
  expect(storeError(missing("portcullis.jobs"), "")).toMatchObject({ code: "42P01" });
});

test("an error of a statement of others stays as it is", () => {
  const error = coded("23505");
  expect(storeError(error, "postgres://db/work")).toBe(error);
});
