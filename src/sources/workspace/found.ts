import { z } from "zod";
import { type Glob, readGlob } from "./glob.ts";
import { toolFailure, MAX_ENTRIES, PASSED_OVER, type Search } from "./workspace.ts";

export const SEARCHED = {
  path: z.string().optional().describe("file or folder, from the root of the workspace; the root by default"),
  files: z.string().min(1).max(1000).optional().describe("only files like this: *.ts at any depth, src/**/*.{ts,tsx}"),
};

/** What a search says beside what it has found. */
export const SEEN = {
  more: z.string().optional().describe("what is not in the result, and how to get it"),
  passedOver: z.partialRecord(z.enum(PASSED_OVER), z.int()).optional().describe("how many were not looked at"),
};

/** Whether a search looks at a file, by the pattern of its call. A file of which that is not to be known is counted. */
export function isWanted(glob: Glob | undefined, path: string, search: Search): boolean {
  const fits = glob ? glob.matches(path) : true;
  if (fits === undefined) search.pass("costlyPaths");
  return fits === true;
}

export function globOf(source: string): Glob {
  return readGlob(source, (why) => toolFailure(`files: ${JSON.stringify(source)} ${why}.`));
}

/** What is given of what a search has found: as many as the call asks for, and as fit the page of a direct call. */
export class FoundPage<Item> {
  readonly items: Item[] = [];
  remaining = 0;
  readonly #limit: number;
  #bytes: number;

  constructor(limit: number, bytes: number) {
    this.#limit = limit;
    this.#bytes = bytes;
  }

  /** Returns whether it is given. Behind the first that is not, none is. */
  add(item: Item): boolean {
    this.#bytes -= Buffer.byteLength(JSON.stringify(item)) + 1;
    const fits = this.remaining === 0 && this.items.length < this.#limit && this.#bytes >= 0;
    if (fits) this.items.push(item);
    else this.remaining += 1;
    return fits;
  }
}

/** What was not given, as `12 more matches in 3 files`, and what was not looked at. */
export function seenBy({ isCut, passedOver }: Search, remainder: string | false) {
  const hints = [
    remainder && `${remainder}: give a narrower path or files, or a higher limit`,
    isCut && `the search ended after ${MAX_ENTRIES} entries of folders: give a path further down`,
  ].filter((one) => one !== false);
  return {
    more: hints.join("; ") || undefined,
    passedOver: Object.keys(passedOver).length === 0 ? undefined : passedOver,
  };
}
