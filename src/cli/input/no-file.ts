import { existsSync } from "node:fs";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { oneLine } from "../terminal/one-line.ts";

export function noFile(path: string): string {
  return `there is no file ${oneLine(path)}.`;
}

/** Refuses a file that an option names, if there is none. */
export function requireFile(option: string, path: string): void {
  if (!existsSync(path)) throw new Failure(EXIT.usage, `${option}: ${noFile(path)}`);
}
