import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Of this package. */
export const { version } = JSON.parse(
  readFileSync(fileURLToPath(import.meta.resolve("portcullis/package.json")), "utf8"),
) as { readonly version: string };
