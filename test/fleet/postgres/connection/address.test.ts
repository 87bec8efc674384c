import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isPostgresUrl, namedDatabase, withoutPassword } from "../../../../src/fleet/postgres/connection/address.ts";
import { runs } from "../../../support/all-tests.ts";

test.each([
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
])(
  "%s is named without its password and its query, and printed for a command without its password",
  (url, named, kept) => {
    expect([namedDatabase(url), withoutPassword(url)]).toEqual([named, kept]);
  },
);

test("no password is in what an error names, however it was written: such a URL is refused, or named without it", () => {
  const part = fc.stringMatching(/^[a-z0-9/?#@:%&=+ \\-]{0,8}$/);
  fc.assert(
    fc.property(part, part, fc.constantFrom("ana", ""), (first, last, user) => {
      const password = `${first}S3CRET${last}`;
      const url = `postgres://${user}:${password}@127.0.0.1:9/work`;
      if (isPostgresUrl(url)) expect(namedDatabase(url)).not.toContain("S3CRET");
    }),
    { numRuns: runs(20_000) },
  );
  const refused = ["ana:12/S3CRET@db", "ana:12?S3CRET@db", "ana:12#S3CRET@db", "ana@one,two", "ana@one%2Ctwo"];
  for (const parts of refused) expect(isPostgresUrl(`postgres://${parts}/work`), parts).toBe(false);
  for (const parts of ["ana:a,b@one", "ana:12%2FS3CRET@127.0.0.1:9"])
    expect(isPostgresUrl(`postgres://${parts}/work`), parts).toBe(true);
});
