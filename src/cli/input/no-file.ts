import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { nearest } from "../../base/index.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { oneLine } from "../terminal/one-line.ts";

/** Says that there is no such file, and names a file of the same folder that may have been meant. */
export function noFile(path: string): string {
  return `there is no file ${oneLine(path)}.${similarFile(path)}`;
}

/** Refuses a file that an option names, if there is none. */
export function requireFile(option: string, path: string): void {
  if (!existsSync(path)) throw new Failure(EXIT.usage, `${option}: ${noFile(path)}`);
}

export function similarFile(path: string): string {
  try {
    const folder = dirname(path);
    // Names are compared without dots: every extension would be a part of its own that all files share.
    const names = new Map(readdirSync(resolve(folder)).map((name) => [name.replaceAll(".", "_"), name]));
    const [meant = ""] = nearest(basename(path).replaceAll(".", "_"), [...names.keys()], 1);
    const name = names.get(meant);
    return name === undefined ? "" : ` Did you mean ${oneLine(join(folder, name))}?`;
  } catch {
    // There is no such folder either.
    return "";
  }
}
