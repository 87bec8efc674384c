import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";

/** The value in a file of JSON that brotli has compressed. */
export function readData(file: URL): unknown {
  return JSON.parse(brotliDecompressSync(readFileSync(file)).toString());
}
