import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("public types that come from schemas keep the comments of their fields in declaration files", () => {
  const sources = globSync("src/**/*.ts").map((path) => ({ path, text: readFileSync(path, "utf8") }));
  const shapes = sources.filter(({ text }) => /\bSchemaType<(?:typeof [A-Z]|Schemas\[)/.test(text));
  expect(shapes.length).toBeGreaterThan(8);
  const records = sources.filter(({ path }) => path.endsWith("record-schemas.ts"));
  expect(records).toHaveLength(1);
  for (const { path, text } of [...shapes, ...records])
    expect(text, `${path} loses comments: use objectSchema of values/object-schema.ts`).not.toMatch(
      /\bz\.(?:object|strictObject|looseObject)\(|\.extend\(/,
    );
});
