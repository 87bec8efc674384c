import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const { version, dependencies, devDependencies, peerDependencies } = JSON.parse(
  readFileSync(fileURLToPath(import.meta.resolve("portcullis/package.json")), "utf8"),
) as { readonly version: string } & Readonly<
  Record<"dependencies" | "devDependencies" | "peerDependencies", Readonly<Record<string, string>>>
>;
