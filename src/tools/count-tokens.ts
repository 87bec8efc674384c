import { createRequire } from "node:module";

/**
 * Longest piece tokenized at once, in UTF-16 code units. The tokenizer's time is quadratic in what it cannot split, such
 * as a run of letters: 100 kB of "a" in one piece takes seconds. A cut through digits or spaces adds no token, because
 * digits are split into groups of three and spaces into tokens of at most 128.
 */
const PIECE_LENGTH = 384;

/**
 * Matches up to the last place where both encodings always split a text, so that its two parts have as many tokens as
 * the whole: before a space, after a word, before and after a number, after a line.
 */
const LAST_SPLIT =
  /^[^]*(?:\S(?=[^\S\r\n])|\p{L}(?=[^\p{L}\p{M}'])|\p{N}(?=\P{N})|[^\s\p{N}](?=\p{N})|[\r\n](?=[^\s/]))/u;

/** `o200k_base` is used by OpenAI's current models, `cl100k_base` by older ones. */
export type Encoding = "o200k_base" | "cl100k_base";

type Tokenizer = typeof import("gpt-tokenizer/encoding/o200k_base");

const require = createRequire(import.meta.url);
const LOADERS: Readonly<Record<Encoding, () => Tokenizer>> = {
  o200k_base: () => require("gpt-tokenizer/encoding/o200k_base") as Tokenizer,
  cl100k_base: () => require("gpt-tokenizer/encoding/cl100k_base") as Tokenizer,
};
const tokenizers = new Map<Encoding, Tokenizer>();

/**
 * Text after which the tokenizer's cache is cleared, in UTF-16 code units. The cache holds parts of texts, and each part
 * keeps its whole text in memory.
 */
const CACHED_LENGTH = 16 * 1024 * 1024;
let cachedLength = 0;

/** Counts special tokens like "<|endoftext|>" as ordinary text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };

/**
 * Counts the tokens of a text. Exact for OpenAI's models, unless the text has a part longer than a piece without a place
 * to split it: then each cut may add a token or two. An estimate for models of other providers. The first call loads the
 * encoding, which takes about 0.15 s.
 */
export function countTokens(text: string, encoding: Encoding = "o200k_base"): number {
  const tokenizer = tokenizers.get(encoding) ?? LOADERS[encoding]();
  tokenizers.set(encoding, tokenizer);
  let tokens = 0;
  for (let start = 0; start < text.length;) {
    const end = endOfPiece(text, start);
    tokens += tokenizer.countTokens(text.slice(start, end), AS_TEXT);
    start = end;
  }
  cachedLength += text.length;
  if (cachedLength > CACHED_LENGTH) {
    for (const { clearMergeCache } of tokenizers.values()) clearMergeCache();
    cachedLength = 0;
  }
  return tokens;
}

function endOfPiece(text: string, start: number): number {
  const max = start + PIECE_LENGTH;
  if (max >= text.length) return text.length;
  // Do not cut through a surrogate pair.
  const end = text.codePointAt(max - 1)! > 0xffff ? max - 1 : max;
  const [split] = LAST_SPLIT.exec(text.slice(start, end)) ?? [];
  return split === undefined ? end : start + split.length;
}
