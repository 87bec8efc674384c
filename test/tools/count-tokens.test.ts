import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import * as cl100k from "gpt-tokenizer/encoding/cl100k_base";
import * as o200k from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { countTokens, type Encoding, loadEncoding } from "../../src/tools/count-tokens.ts";
import { runs } from "../support/all-tests.ts";

const WHOLE: Readonly<Record<Encoding, (text: string) => number>> = {
  o200k_base: (text) => o200k.countTokens(text, { disallowedSpecial: new Set() }),
  cl100k_base: (text) => cl100k.countTokens(text, { disallowedSpecial: new Set() }),
};
const ENCODINGS: readonly Encoding[] = ["o200k_base", "cl100k_base"];

test.each([
  ["", 0, 0],
  ["hello world", 2, 2],
  ["tools.billing.listInvoices", 4, 6],
  ["你好，世界", 3, 6],
])("the text %j has its tokens in o200k_base, and in cl100k_base", (text, inO200k, inCl100k) => {
  expect([countTokens(text), countTokens(text, "cl100k_base")]).toEqual([inO200k, inCl100k]);
});

const file = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const flights = file("node_modules/vega-datasets/data/flights-2k.json");
const licences = JSON.parse(file("node_modules/spdx-license-list/spdx-full.json")) as Readonly<
  Record<string, { readonly licenseText: string }>
>;

/** What stands beside each other decides where an encoding splits: every kind of neighbour is to meet every other. */
const CHUNKS =
  "a Z é ß ǅ ʰ 中 ก \u0301 ٣ ½ Ⅷ 7 ! ' / \" { } [ ] : , . _ - — ’ 😀 𠀀 🏽 \u200d \ud800 \udc00 's 'LL n't 12345 tools <|endoftext|>"
    .split(" ")
    .concat(" ", "  ", " 1", "\t", "\n", "\r", "\r\n", "\n\n", "//\n", "\n  ", "\u00a0", "\u3000");

describe.each(ENCODINGS)("in %s", (encoding) => {
  test("the packed file holds every token of tiktoken's, with its rank", () => {
    const published = file(`node_modules/gpt-tokenizer/data/${encoding}.tiktoken`).trim().split("\n");
    const ranks = loadEncoding(encoding);
    expect(ranks.size).toBe(published.length);
    const wrong = published.filter((line) => {
      const [token = "", rank] = line.split(" ");
      return ranks.get(Buffer.from(token, "base64").toString("latin1")) !== Number(rank);
    });
    expect(wrong).toEqual([]);
  });

  test.each([
    ["JSON", flights],
    ["JSON on several lines", JSON.stringify(JSON.parse(flights), undefined, 2)],
    ["CSV", file("node_modules/vega-datasets/data/airports.csv")],
    ["licences, as JSON", JSON.stringify(licences).slice(0, 300_000)],
    [
      "licences",
      Object.values(licences)
        .map(({ licenseText }) => licenseText)
        .slice(0, 30)
        .join("\n\n"),
    ],
    ["code", file("src/agent/drive/say-loop.ts").repeat(2)],
    ["markdown, with drawings", file("src/README.md").repeat(3)],
    ["Chinese", "模型写一个程序，程序在墙后运行。只有结果会回来：例如“一百二十三”个航班，或者１２３个。\n".repeat(300)],
    ["emoji among words", "It works 🎉🎉, mostly 👩‍👩‍👧‍👦. Don't 🏳️‍🌈 ask… ".repeat(300)],
  ])("a text in pieces has as many tokens as in one: %s", (_, text) => {
    expect(text.length).toBeGreaterThan(10_000);
    expect(countTokens(text, encoding)).toBe(WHOLE[encoding](text));
  });

  test("whatever stands beside each other, pieces have as many tokens as the whole", () => {
    const texts = fc
      .array(fc.constantFrom(...CHUNKS), { minLength: 600, maxLength: 2000 })
      .map((chunks) => chunks.join(""));
    fc.assert(
      fc.property(texts, (text) => countTokens(text, encoding) === WHOLE[encoding](text)),
      { numRuns: runs(100) },
    );
  });

  test("a run of one character is cut where the encoding splits it", () => {
    for (const character of ["7", "a", " ", "\n"]) {
      const piece = WHOLE[encoding](character.repeat(384));
      expect(countTokens(character.repeat(384 * 100), encoding), character).toBe(piece * 100);
    }
    expect(countTokens("7".repeat(30_000), encoding)).toBe(10_000);
    expect(countTokens(" ".repeat(12_800))).toBe(100);
  });

  test.each(["a", "!", " ", "\n", "中", "qzx", "kq", "\r\n", "😀", "<|endoftext|>"])(
    "a megabyte of %j is counted in a moment",
    (pattern) => {
      const times = Math.floor((1024 * 1024) / Buffer.byteLength(pattern));
      const text = pattern.repeat(times);
      const whole = (WHOLE[encoding](pattern.repeat(256)) / 256) * times;
      const tokens = countTokens(text, encoding);
      expect(tokens).toBeGreaterThan(whole * 0.98);
      expect(tokens).toBeLessThan(whole * 1.02 + (3 * text.length) / 384);
    },
  );
});

test("text that looks like a special token counts as the text it is", () => {
  for (const text of ["<|endoftext|>", "<|endofprompt|>", "a<|endoftext|>b"])
    expect(countTokens(text)).toBeGreaterThan(4);
});
