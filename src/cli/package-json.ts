import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const { version, devDependencies, peerDependencies } = JSON.parse(
  readFileSync(fileURLToPath(import.meta.resolve("portcullis/package.json")), "utf8"),
) as { readonly version: string } & Readonly<
  Record<"devDependencies" | "peerDependencies", Readonly<Record<string, string>>>
>;
