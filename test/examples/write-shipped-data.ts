/** Writes the data of examples that is part of the package: node test/examples/write-shipped-data.ts */
import { writeFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";
import { SHIPPED_DATA } from "./shipped-data.ts";

const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = constants;
// The window must hold the whole text: licences of one family are far apart.
const params = { [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_QUALITY]: 11 };

for (const { file, taken } of SHIPPED_DATA)
  writeFileSync(file, brotliCompressSync(JSON.stringify(taken()), { params }));
