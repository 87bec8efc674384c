import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../support/snippets.ts";

/** The text as the formatter writes the file. */
export function formatted(file: string, text: string): string {
  const bin = join(root, "node_modules/.bin/oxfmt");
  return execFileSync(bin, ["--stdin-filepath", file], { cwd: root, input: text, encoding: "utf8" });
}
