import { describe, expect, test } from "vitest";
import { namedDatabase, withoutPassword } from "../../../../src/journal/postgres/connection/address.ts";

describe.each([
  [
    "postgres://ana:s3cret@db.example:5432/work",
    "postgres://ana@db.example:5432/work",
    "postgres://ana@db.example:5432/work",
  ],
  [
    "postgresql://ana:p%40s3cret@[::1]/work?sslmode=verify-full",
    "postgresql://ana@[::1]/work",
    "postgresql://ana@[::1]/work?sslmode=verify-full",
  ],
  ["postgres://ana:s3cret@/work?host=/run/pg", "postgres://ana@/work", "postgres://ana@/work?host=/run/pg"],
  ["postgres:///work?host=/run/pg&password=s3cret", "postgres:///work", "postgres:///work?host=/run/pg"],
  ["postgres://db.example/work?PASSWORD=s3cret", "postgres://db.example/work", "postgres://db.example/work"],
  ["postgres://ana:a:s3cret@db/work", "postgres://ana@db/work", "postgres://ana@db/work"],
  ["postgres://ana:a@s3cret@db/work", "postgres://ana@db/work", "postgres://ana@db/work"],
])("%s", (url, named, kept) => {
  test("is named without its password and its query", () => expect(namedDatabase(url)).toBe(named));
  test("is printed for a command without its password", () => expect(withoutPassword(url)).toBe(kept));
});
