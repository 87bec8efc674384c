import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { RECORD_SCHEMAS } from "../../src/journal/record-schemas.ts";

const readme = readFileSync(fileURLToPath(new URL("../../src/journal/README.md", import.meta.url)), "utf8");
const [, ...rows] = /\n\| record[^]*$/.exec(readme)?.[0].trim().split("\n").slice(1) ?? [];

const cells = (row: string) => row.split("|").map((cell) => cell.trim());

test("the table of records has every record with exactly its fields, and no other", () => {
  const told = Object.fromEntries(
    rows.map((row) => {
      const [, name = "", fields = ""] = cells(row);
      return [name, fields.split(", ").toSorted()];
    }),
  );
  const known = Object.fromEntries(
    Object.entries(RECORD_SCHEMAS).map(([name, { shape }]) => [
      name,
      Object.entries(shape)
        .map(([field, schema]) => (schema instanceof z.ZodOptional ? `${field}?` : field))
        .toSorted(),
    ]),
  );
  expect(told).toEqual(known);
});
