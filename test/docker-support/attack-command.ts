import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Attack } from "../hostile-support/attacks.ts";

const prelude = (language: "js" | "py") =>
  readFileSync(fileURLToPath(new URL(`attack-prelude.${language}`, import.meta.url)), "utf8");

/** Runs an attack in a container in place of the guest: its own program, with all that the image has. */
export function attackCommand({ path }: Attack): readonly string[] {
  const source = readFileSync(path, "utf8");
  return path.endsWith(".py")
    ? ["/usr/bin/python3", "-c", `${prelude("py")}\n# attack\n${source}`]
    : ["/usr/local/bin/node", "-e", `${prelude("js")}\n// attack\n${source}`];
}
