import { PatternRefused } from "../tools/json-schema/patterns/parse-pattern.ts";
import { Glob } from "./glob.ts";
import { failed, MAX_ENTRIES, PASSED_OVER, type PassedOver, type Place, type Search } from "./workspace.ts";

/** What a search says beside what it has found. */
export interface Seen {
  /** What is not in the result, and how to get it. */
  readonly more?: string;
  /** How many files, links and lines were not looked at. */
  readonly passedOver?: PassedOver;
}

export const PATH_INPUT = {
  type: "string",
  description: "file or folder, from the root of the workspace; the root by default",
};
export const FILES_INPUT = {
  type: "string",
  minLength: 1,
  maxLength: 1000,
  description: "only files like this: *.ts at any depth, src/**/*.{ts,tsx}",
};

const COUNT = { type: "integer" };
export const FOUND_FIELDS = {
  more: { type: "string", description: "what is not in the result, and how to get it" },
  passedOver: {
    type: "object",
    description: "how many were not looked at",
    properties: Object.fromEntries(PASSED_OVER.map((why) => [why, COUNT])),
  },
};

/** Whether a search looks at a file, by the pattern of its call. A file of which that is not to be known is counted. */
export function isWanted(glob: Glob | undefined, { path }: Place, search: Search): boolean {
  const fits = glob ? glob.matches(path) : true;
  if (fits === undefined) search.pass("costlyPaths");
  return fits === true;
}

/** The pattern of file names of a call. Throws `tool_failed`. */
export function globOf(source: string): Glob {
  try {
    return new Glob(source);
  } catch (error) {
    if (error instanceof PatternRefused) throw failed(`files: ${JSON.stringify(source)} ${error.message}.`);
    throw error;
  }
}

/** `12 more matches in 3 files: …`; empty if all are given. */
export function moreText(left: number, what: string, where = ""): string {
  if (left === 0) return "";
  const plural = what.endsWith("y") ? `${what.slice(0, -1)}ies` : `${what}es`;
  const counted = `${left} more ${left === 1 ? what : plural}`;
  return `${counted}${where === "" ? "" : ` ${where}`}: give a narrower path or files, or a higher limit`;
}

export function seenBy({ isCut, passedOver }: Search, more: string): Seen {
  const cut = isCut ? `the search ended after ${MAX_ENTRIES} entries of folders: give a path further down` : "";
  const said = [more, cut].filter((part) => part !== "").join("; ");
  return {
    ...(said === "" ? {} : { more: said }),
    ...(Object.keys(passedOver).length === 0 ? {} : { passedOver }),
  };
}
