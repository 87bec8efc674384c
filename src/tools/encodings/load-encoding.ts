import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

/** `o200k_base` is used by OpenAI's current models, `cl100k_base` by older ones. */
export type Encoding = "o200k_base" | "cl100k_base";

/**
 * Rank of each token by its bytes, one character of U+0000 to U+00FF for each byte. If several pairs of neighbours are
 * tokens, the pair with the lowest rank is joined first.
 */
export type Ranks = ReadonlyMap<string, number>;

/**
 * Reads the tokens of an encoding, which takes about 0.1 s. A file is compressed by brotli. It holds the number of
 * tokens (four bytes, little-endian), the length of each token in bytes (one byte each, in the order of ranks), and the
 * bytes of the tokens.
 */
export function loadEncoding(encoding: Encoding): Ranks {
  const file = fileURLToPath(new URL(`./${encoding}.bin`, import.meta.url));
  const packed = brotliDecompressSync(readFileSync(file));
  const count = packed.readUInt32LE(0);
  const text = packed.toString("latin1", 4 + count);
  const ranks = new Map<string, number>();
  let start = 0;
  for (let rank = 0; rank < count; rank += 1) {
    const end = start + packed[4 + rank]!;
    ranks.set(text.slice(start, end), rank);
    start = end;
  }
  return ranks;
}
