import { createHash } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { readData } from "../../examples/read-data.ts";
import { wholly } from "../../src/base/index.ts";
import { countTokens, encodingInParts, hasAtMostTokens } from "../../src/tools/count-tokens.ts";
import { runs } from "../support/all-tests.ts";
import { Recording } from "../support/recording.ts";

const ENCODING = "o200k_base";

/** Tokens of whole texts as gpt-tokenizer counts them. */
const recording = new Recording<number>("tokens");
afterAll(() => recording.write());

const countWhole = (text: string) =>
  recording.answer([ENCODING, text], (require) => {
    const tokenizer = require(`gpt-tokenizer/encoding/${ENCODING}`) as {
      readonly countTokens: (text: string, options: object) => number;
    };
    return tokenizer.countTokens(text, { disallowedSpecial: new Set() });
  });

/** Hash of the file of tokens and ranks that OpenAI publishes for tiktoken. */
const PUBLISHED = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

test.each([
  ["", 0],
  ["hello world", 2],
  ["tools.billing.listInvoices", 4],
  ["你好，世界", 3],
])("the text %j has its tokens", (text, tokens) => {
  expect(countTokens(text)).toBe(tokens);
});

const dataOf = (file: string) => readData(new URL(`../../examples/${file}.json.br`, import.meta.url));
const { flights, airports } = dataOf("flights/flights") as {
  readonly flights: readonly object[];
  readonly airports: readonly object[];
};
const licences = Object.values(
  dataOf("licenses/licenses") as Readonly<Record<string, { readonly licenseText: string }>>,
);
const table = airports.map((row) => Object.values(row).join(",")).join("\n");
const CODE = `export function pick<Row extends object>(row: Row, fields?: readonly (keyof Row)[]): Partial<Row> {
  // Déjà vu: "all" is 'none' asked for.
  return fields ? Object.fromEntries(fields.map((field) => [field, row[field]])) : { ...row, id: \`#\${row}\` };
}
`;
const DRAWING = `## The house\n\n┌──────────────┐   ┌────────┐\n│ runtime  1.0 │ ◀─│ *serve* │\n└──────────────┘   └────────┘\n\n| a | b |\n|---|--:|\n| \`x\` | 12 |\n`;

/** What stands beside each other decides where an encoding splits: every kind of neighbour is to meet every other. */
const CHUNKS =
  "a Z é ß ǅ ʰ 中 ก \u0301 ٣ ½ Ⅷ 7 ! ' / \" { } [ ] : , . _ - — ’ 😀 𠀀 🏽 \u200d \ud800 \udc00 's 'LL n't 12345 tools <|endoftext|>"
    .split(" ")
    .concat(" ", "  ", " 1", "\t", "\n", "\r", "\r\n", "\n\n", "//\n", "\n  ", "\u00a0", "\u3000");

/** The same texts in every run: their tokens are recorded. */
function texts(): readonly string[] {
  let state = 1;
  const below = (most: number) => (state = (state * 48_271) % 0x7fffffff) % most;
  return Array.from({ length: 100 }, () =>
    Array.from({ length: 600 + below(1400) }, () => CHUNKS[below(CHUNKS.length)]).join(""),
  );
}

test("the packed file holds every token of tiktoken's, with its rank", () => {
  const lines = [...wholly(encodingInParts())].map(
    ([token, rank]) => `${Buffer.from(token, "latin1").toString("base64")} ${rank}\n`,
  );
  expect(createHash("sha256").update(lines.join("")).digest("hex")).toBe(PUBLISHED);
});

test.each([
  ["JSON", JSON.stringify(flights.slice(0, 2000))],
  ["JSON on several lines", JSON.stringify(flights.slice(0, 2000), undefined, 2)],
  ["CSV", table],
  ["licences, as JSON", JSON.stringify(licences).slice(0, 300_000)],
  [
    "licences",
    licences
      .map(({ licenseText }) => licenseText)
      .slice(0, 30)
      .join("\n\n"),
  ],
  ["code", CODE.repeat(50)],
  ["markdown, with drawings", DRAWING.repeat(100)],
  ["Chinese", "模型写一个程序，程序在墙后运行。只有结果会回来：例如“一百二十三”个航班，或者１２３个。\n".repeat(300)],
  ["emoji among words", "It works 🎉🎉, mostly 👩‍👩‍👧‍👦. Don't 🏳️‍🌈 ask… ".repeat(300)],
])("a text in pieces has as many tokens as in one: %s", async (_, text) => {
  expect(text.length).toBeGreaterThan(10_000);
  expect(countTokens(text)).toBe(await countWhole(text));
});

test("whatever stands beside each other, pieces have as many tokens as the whole", async () => {
  for (const text of texts().slice(0, runs(100))) expect(countTokens(text)).toBe(await countWhole(text));
});

test.each(["a", "!", " ", "\n", "中", "qzx", "kq", "\r\n", "😀", "<|endoftext|>"])(
  "a megabyte of %j is counted in a moment",
  async (pattern) => {
    const times = Math.floor((1024 * 1024) / Buffer.byteLength(pattern));
    const text = pattern.repeat(times);
    const whole = ((await countWhole(pattern.repeat(256))) / 256) * times;
    const tokens = countTokens(text);
    expect(tokens).toBeGreaterThan(whole * 0.98);
    expect(tokens).toBeLessThan(whole * 1.02 + (3 * text.length) / 384);
  },
);

test("however many texts are counted before the encoding is there, it is loaded once", async () => {
  const first = "../../src/tools/count-tokens.ts?first";
  const { tokensInParts } = (await import(
    /* @vite-ignore */ first
  )) as typeof import("../../src/tools/count-tokens.ts");
  const open = new Set(Array.from({ length: 8 }, () => tokensInParts("hello world")));
  const counts: number[] = [];
  let parts = 0;
  while (open.size > 0)
    for (const counting of open) {
      const { done, value } = counting.next();
      parts += 1;
      if (done) counts.push(value);
      if (done) open.delete(counting);
    }
  expect(counts).toEqual(Array.from({ length: 8 }, () => 2));
  // The encoding has 200,000 tokens, of which 4096 are read at once.
  expect(parts).toBeLessThan(2 * (200_000 / 4096));
});

test("a text that is too long for so many tokens, whatever they are, is not read", () => {
  const text = { length: 129, slice: () => expect.fail() } as unknown as string;
  expect(hasAtMostTokens(text, 1)).toBe(false);
  expect([hasAtMostTokens(" ".repeat(128), 1), hasAtMostTokens("a b", 1)]).toEqual([true, false]);
});
