import { jsonSchema } from "portcullis";
import { expect, test } from "vitest";
import { processorMs, slowness } from "../../support/slowness.ts";

const many = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index));
const patterns = (sources: readonly string[]) => ({ anyOf: sources.map((pattern) => ({ pattern })) });

/** At rest, in milliseconds. A pattern of 64 KB took V8 alone 700. */
const MOST_MS = 150;

test.each([
  ["classes of properties", patterns(many(19, (index) => `[\\p{L}\\P{Script=Greek}${index}]`.repeat(9)))],
  [
    "different properties",
    patterns(many(18, (index) => `[\\p{L}\\p{Lu}\\p{N}\\p{S}\\p{P}\\p{Z}\\p{Script=Han}\\p{scx=Thai}]{${index}}`)),
  ],
  ["repeated groups", patterns(many(90, (index) => `^(?:a{1,98}b?){1,49}${index}$`))],
  ["classes of many members", patterns(many(10, (index) => `[${"ab".repeat(900)}]${index}`))],
  ["empty groups", patterns(many(10, (index) => `${"()".repeat(1900)}${index}`))],
  ["look-arounds", patterns(many(9, (index) => `${"(?=a)(?<!b)".repeat(150)}${index}`))],
  [
    "names that are patterns",
    { patternProperties: Object.fromEntries(many(90, (index) => `(?:ab){60}${index}`).map((name) => [name, {}])) },
  ],
  ["parts", { anyOf: Array.from({ length: 9000 }, () => ({})) }],
])(
  "to make a schema of the most costly kind, and to check a text, takes the thread for a moment: %s",
  async (name, schema) => {
    const busy = slowness("processor");
    const took = await processorMs(() => jsonSchema(schema)["~standard"].validate("é".repeat(10)));
    process.stdout.write(`${name}: ${took.toFixed(1)} ms, machine ${busy.toFixed(1)} times as slow as at rest\n`);
    expect(took / busy).toBeLessThan(MOST_MS);
  },
);
