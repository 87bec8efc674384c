import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** JSDoc before a field of a record of rules (`name: rule,`) or of an interface (`readonly name?: Type;`). */
const FIELD = /^ {2}\/\*\*((?:(?!\*\/)[^])*)\*\/\n(?: {2}\/\/.*\n)*(?= {2}(?:readonly )?([\w$]+)\??[:,])/gm;
/** `...RULES` and `...pick(RULES, "name")`. */
const SPREAD = /^ {2}\.\.\.(?:(\w+)|pick\((\w+), ([^)]*)\)),$/gm;

/**
 * The sentences of an options object's rules, by the options' names: the JSDoc that stands before each rule. Rules that are
 * spread from another record have their sentences there. `name` may also be an interface.
 */
export function sentencesOf(file: string, name: string): ReadonlyMap<string, string> {
  const source = readFileSync(join(root, file), "utf8");
  const body = new RegExp(`\\b(?:const|interface) ${name} =? ?\\{\\n([^]*?\\n)\\}`).exec(source)?.[1];
  if (body === undefined) throw new Error(`${file} has no ${name}.`);
  const spread = [...body.matchAll(SPREAD)].flatMap(([, part, picked = "", names]) => {
    const whole = part === undefined ? picked : wholeOf(source, part);
    const all = [...sentencesOf(fileWith(file, source, whole), whole)];
    return names === undefined ? all : all.filter(([field]) => names.includes(`"${field}"`));
  });
  const own = [...body.matchAll(FIELD)].map(
    ([, text = "", field = ""]) => [field, text.replaceAll(/\s*\n \* ?|\s*\n {3}\* ?/g, " ").trim()] as const,
  );
  return new Map([...spread, ...own]);
}

/** `RULES` of `const { name, ...part } = RULES;`; any other name as it is. */
const wholeOf = (source: string, part: string) =>
  new RegExp(`\\.\\.\\.${part} \\} = (\\w+);`).exec(source)?.[1] ?? part;

/** The file that declares a name which is used in this file. */
function fileWith(file: string, source: string, name: string): string {
  if (new RegExp(`\\bconst ${name} =`).test(source)) return file;
  const imports = [...source.matchAll(/^import \{([^}]*)\} from "(\.[^"]+)"/gm)];
  const from = imports.find(([, names = ""]) => new RegExp(`\\b${name}\\b`).test(names))?.[2];
  if (from === undefined) throw new Error(`${file} does not import ${name}.`);
  return join(dirname(file), from);
}
