/** Writes the data of the example licenses, which is part of the package: node test/examples/write-licenses.ts */
import { writeFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";
import { allLicenses, licensesFile } from "./all-licenses.ts";

const text = JSON.stringify(allLicenses());
writeFileSync(
  licensesFile,
  // The window must hold the whole text: licences of one family are far apart.
  brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 11 } }),
);
