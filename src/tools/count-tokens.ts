import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { type SlicedWork, wholly } from "../base/index.ts";

/** Rank of each token by its bytes, one character of U+0000 to U+00FF each. The pair of lowest rank is joined first. */
type Ranks = ReadonlyMap<string, number>;

/**
 * Longest piece tokenized at once, in UTF-16 code units. Joining byte pairs takes time that is quadratic in the length
 * of a text without a place to split it, such as a run of letters. A cut through digits or spaces adds no token,
 * because digits are split into groups of three and spaces into tokens of at most 128.
 */
const PIECE_LENGTH = 384;

/**
 * Matches up to the last place where the encoding always splits a text, so that its two parts have as many tokens as
 * the whole. Such places are before a space, after a word, before and after a number, and after a line.
 */
const LAST_SPLIT =
  /^[^]*(?:\S(?=[^\S\r\n])|\p{L}(?=[^\p{L}\p{M}'])|\p{N}(?=\P{N})|[^\s\p{N}](?=\p{N})|[\r\n](?=[^\s/]))/u;

/** The words that o200k_base splits a text into before it joins byte pairs, as defined by OpenAI's tiktoken. */
const WORDS =
  /[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+/gu;

/** Words whose tokens are remembered, each of a piece at most. Beyond it all are forgotten. */
const REMEMBERED = 4096;

/** Tokens that are read at once. */
const AT_ONCE = 4096;

/**
 * Reads the tokens of o200k_base, which takes about 0.1 s. The file is compressed by brotli. It holds the number of
 * tokens (four bytes, little-endian), the length of each token in bytes (one byte each, in the order of ranks), and the
 * bytes of the tokens.
 */
export function* encodingInParts(): SlicedWork<Ranks> {
  const file = fileURLToPath(new URL("./encodings/o200k_base.bin", import.meta.url));
  const packed = brotliDecompressSync(readFileSync(file));
  yield;
  const count = packed.readUInt32LE(0);
  const text = packed.toString("latin1", 4 + count);
  const ranks = new Map<string, number>();
  let start = 0;
  for (let rank = 0; rank < count; rank += 1) {
    const end = start + packed[4 + rank]!;
    ranks.set(text.slice(start, end), rank);
    start = end;
    if (rank % AT_ONCE === 0) yield;
  }
  return ranks;
}

function tokenizerOf(ranks: Ranks) {
  const remembered = new Map<string, number>();

  /** `bytes` must not be a slice of a longer text: the cache would keep that text in memory. */
  const countWord = (bytes: string): number => {
    if (ranks.has(bytes)) return 1;
    const hit = remembered.get(bytes);
    if (hit !== undefined) return hit;
    const tokens = countBytePairs(bytes, ranks);
    if (remembered.size === REMEMBERED) remembered.clear();
    remembered.set(bytes, tokens);
    return tokens;
  };

  return (piece: string): number => {
    const isAscii = Buffer.byteLength(piece) === piece.length;
    let tokens = 0;
    for (const word of piece.match(WORDS) ?? [])
      tokens += isAscii && ranks.has(word) ? 1 : countWord(Buffer.from(word).toString("latin1"));
    return tokens;
  };
}

/** Counts the tokens of a piece. */
type Tokenizer = ReturnType<typeof tokenizerOf>;

let tokenizer: Tokenizer | undefined;
let loading: SlicedWork<Ranks> | undefined;

/** Whoever counts before the encoding is there loads a part of it, so that it is loaded once: it takes tens of megabytes. */
function* loaded(): SlicedWork<Tokenizer> {
  while (!tokenizer) {
    loading ??= encodingInParts();
    let part: IteratorResult<undefined, Ranks>;
    try {
      part = loading.next();
    } catch (error) {
      loading = undefined;
      throw error;
    }
    if (part.done) [tokenizer, loading] = [tokenizerOf(part.value), undefined];
    else yield;
  }
  return tokenizer;
}

/**
 * Counts the tokens of a text in o200k_base, the encoding of OpenAI's models. Text that looks like a special token, like "<|endoftext|>", counts as ordinary text. Exact
 * for OpenAI's models, unless the text has a part longer than a piece without a place to split it: then each cut may add a
 * token or two. An estimate for models of other providers. The first call loads the encoding, which takes about 0.1 s.
 */
export function countTokens(text: string): number {
  return wholly(tokensInParts(text));
}

/** Bytes of the longest token. */
const TOKEN_BYTES = 128;

/** Whether a text has at most `tokens` tokens. Reads only as much of the text as that takes. */
export function hasAtMostTokens(text: string, tokens: number): boolean {
  return text.length <= tokens * TOKEN_BYTES && wholly(tokensInParts(text, tokens)) <= tokens;
}

/** As `countTokens`, for texts of any length: the thread is released after each piece. Counts to some number above `most`. */
export function* tokensInParts(text: string, most = Infinity): SlicedWork<number> {
  const count = yield* loaded();
  let tokens = 0;
  for (let start = 0; start < text.length && tokens <= most;) {
    const end = endOfPiece(text, start);
    tokens += count(text.slice(start, end));
    start = end;
    yield;
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

/** Rank of two neighbours that together are no token. */
const NO_TOKEN = 0x7fffffff;

/**
 * Splits a text into tokens: each pair of neighbours that is a token is joined, the pair with the lowest rank first,
 * and the leftmost of equal pairs. Returns how many tokens remain. Takes time that is quadratic in the length, and no
 * longer than about a millisecond for a thousand bytes.
 */
function countBytePairs(bytes: string, ranks: Ranks): number {
  let parts = bytes.length;
  /** Where each part begins, and the end. */
  const starts = Int32Array.from({ length: parts + 1 }, (_, index) => index);
  const rankAt = (part: number) =>
    part + 2 > parts ? NO_TOKEN : (ranks.get(bytes.slice(starts[part], starts[part + 2])) ?? NO_TOKEN);
  /** Rank of each part together with the next one. */
  const pairs = Int32Array.from({ length: parts }, (_, part) => rankAt(part));
  for (;;) {
    let lowest = NO_TOKEN;
    let first = 0;
    for (let part = 0; part < parts - 1; part += 1)
      if (pairs[part]! < lowest) {
        lowest = pairs[part]!;
        first = part;
      }
    if (lowest === NO_TOKEN) return parts;
    starts.copyWithin(first + 1, first + 2, parts + 1);
    pairs.copyWithin(first + 1, first + 2, parts);
    parts -= 1;
    pairs[first] = rankAt(first);
    if (first > 0) pairs[first - 1] = rankAt(first - 1);
  }
}
