import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const folder = new URL("./", import.meta.url);
const readme = readFileSync(new URL("README.md", folder), "utf8");
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => readFileSync(new URL(file, folder), "utf8"));

interface Row {
  readonly cases: readonly string[];
  readonly where: string;
}

const rows = [...readme.matchAll(/^\| ([ARCGMXS]\d[^|]*?) *\|[^|]*\|([^|]*)\|$/gm)].map(
  ([, cases = "", where = ""]): Row => ({
    cases: cases.split(", ").flatMap(expanded),
    where,
  }),
);

/** `G1 – G6` as the six that it stands for. */
function expanded(range: string): string[] {
  const [, letter = "", first = "", last = first] = /^([A-Z])(\d+)(?: – [A-Z](\d+))?$/.exec(range) ?? [];
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => `${letter}${Number(first) + index}`);
}

test("every case has exactly one row", () => {
  const counts = { A: 20, R: 16, C: 6, G: 8, M: 13, X: 6, S: 19 };
  const all = Object.entries(counts).flatMap(([letter, count]) =>
    Array.from({ length: count }, (_, index) => `${letter}${index + 1}`),
  );
  expect(rows.flatMap(({ cases }) => cases).toSorted()).toEqual(all.toSorted());
});

test.each(rows.filter(({ where }) => !/^ do(es)? not apply: /.test(where)))(
  "the tests of $cases are there",
  ({ cases, where }) => {
    const files = [...where.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) expect(existsSync(new URL(file, folder)), file).toBe(true);
    for (const one of cases)
      expect(
        sources.some((text) =>
          new RegExp(`(?:test|each|ofRequests)[^]{0,400}?"(?:[A-Z]\\d+, )*${one}(?:, [A-Z]\\d+)*: `).test(text),
        ),
        one,
      ).toBe(true);
  },
);
