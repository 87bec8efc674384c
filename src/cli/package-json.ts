import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const { version, devDependencies } = JSON.parse(
  readFileSync(fileURLToPath(import.meta.resolve("portcullis/package.json")), "utf8"),
) as { readonly version: string; readonly devDependencies: Readonly<Record<string, string>> };
