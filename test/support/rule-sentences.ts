import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The sentences of an options object's rules, by the options' names: the JSDoc that stands before each rule. */
export function sentencesOf(file: string, rules: string): ReadonlyMap<string, string> {
  const source = readFileSync(`${root}${file}`, "utf8");
  const start = source.indexOf(`const ${rules} = {\n`);
  if (start < 0) throw new Error(`${file} has no ${rules}.`);
  const body = source.slice(start, source.indexOf("\n};", start));
  const found = [...body.matchAll(/^ {2}\/\*\*([^]*?)\*\/\n(?: {2}\/\/.*\n)*(?= {2}(\w+)[:,])/gm)];
  return new Map(
    found.map(([, text = "", name = ""]) => [name, text.replaceAll(/\s*\n \* ?|\s*\n {3}\* ?/g, " ").trim()]),
  );
}
