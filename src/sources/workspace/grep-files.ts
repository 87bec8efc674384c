import { z } from "zod";
import { type LinearPattern, readPattern } from "../../tools/json-schema/index.ts";
import type { CallContext } from "../../tools/tool.ts";
import { countText, type SchemaType } from "../../base/index.ts";
import { objectSchema } from "../../base/values/object-schema.ts";
import { FoundPage, globOf, isWanted, SEARCHED, SEEN, seenBy } from "./found.ts";
import { isText, linesOf } from "./text-lines.ts";
import { toolFailure, LongFile, Search, type Workspace } from "./workspace.ts";

const MATCHES = { default: 100, max: 1000 } as const;
/** Longest line that is searched, in bytes, and how much of it is given, in characters. */
const LINE_BYTES = 10_000;
const SHOWN_CHARACTERS = 300;
/** Steps for one line: some milliseconds of the host's thread. */
const LINE_STEPS = 250_000;
/**
 * Bytes of a text that are looked for in a whole file at once. Node's search is linear for so many: it knows where a text
 * repeats itself in its last 250 bytes alone, and a longer one costs its length at each byte of the file.
 */
const LOOKED_FOR = 250;
/** Characters with a meaning in a regular expression. A pattern without them is a text that is looked for. */
const SYNTAX = /[\^$\\.*+?()[\]{}|]/;

export const GREP_INPUT = objectSchema({
  pattern: z
    .string()
    .min(1)
    .max(1000)
    .describe("regular expression of ECMAScript with the flag u, for one line; case matters"),
  ...SEARCHED,
  limit: z.int().min(1).max(MATCHES.max).optional().describe(`matches; ${MATCHES.default} by default`),
});

export const GREP_OUTPUT = objectSchema({
  matches: z.array(objectSchema({ path: z.string(), line: z.int(), text: z.string() })),
  ...SEEN,
});
type Matches = SchemaType<typeof GREP_OUTPUT>;

/** Finds the lines of files that a pattern fits. Files that are no text, and what is too long, are counted. */
export async function grepFiles(
  workspace: Workspace,
  { pattern, path = "", files, limit = MATCHES.default }: SchemaType<typeof GREP_INPUT>,
  { caller, tenant, signal }: CallContext,
  { fileBytes, pageBytes }: { readonly fileBytes: number; readonly pageBytes: number },
): Promise<Matches> {
  const test = new LineTest(pattern);
  const glob = files === undefined ? undefined : globOf(files);
  const search = new Search(tenant, signal);
  const place = workspace.place(path);
  const isFolder = await workspace.isFolder(place);
  const page = new FoundPage<Matches["matches"][number]>(
    limit,
    caller === "direct" ? pageBytes : Number.POSITIVE_INFINITY,
  );
  const leftIn = new Set<string>();
  for await (const file of isFolder ? workspace.files(place, search) : [place]) {
    await search.next();
    if (isFolder && !isWanted(glob, file, search)) continue;
    const bytes = await readText(workspace, file, fileBytes, search, isFolder);
    if (!bytes || !test.mayFit(bytes)) continue;
    for (const line of linesOf(bytes)) {
      // An expression may take as long for each of a thousand short lines as for one long line.
      if (line === undefined || test.isExpression) await search.next();
      if (line === undefined) continue;
      const text = line.bytes.length > LINE_BYTES ? undefined : line.bytes.toString("utf8");
      const isMatch = text === undefined ? undefined : test.fits(text);
      if (isMatch === undefined) search.pass("longLines");
      if (isMatch && !page.add({ path: file, line: line.number, text: shown(text!) })) leftIn.add(file);
    }
  }
  const { items: matches, remaining } = page;
  const what = `${countText(remaining, "more match", "more matches")} in ${countText(leftIn.size, "file")}`;
  return { matches, ...seenBy(search, remaining > 0 && what) };
}

/** The text of a file; undefined if it is passed over. A file that the call names is not passed over. */
async function readText(workspace: Workspace, file: string, fileBytes: number, search: Search, isOneOfMany: boolean) {
  try {
    const bytes = await workspace.read(file, fileBytes);
    if (isText(bytes)) return bytes;
    if (!isOneOfMany) throw toolFailure(`${JSON.stringify(file)} is no text in UTF-8.`);
    search.pass("binary");
  } catch (error) {
    if (!isOneOfMany) throw error;
    search.pass(error instanceof LongFile ? "longFiles" : "unreadable");
  }
  return undefined;
}

/** Whether a pattern fits a line, in linear time. Throws `tool_failed` for a pattern that is none, or that has no linear time. */
export class LineTest {
  readonly #pattern: LinearPattern | undefined;
  readonly #text: string;
  readonly #bytes: Buffer;

  constructor(source: string) {
    this.#text = source;
    this.#bytes = Buffer.from(source).subarray(0, LOOKED_FOR);
    this.#pattern = SYNTAX.test(source) ? linearPattern(source) : undefined;
  }

  get isExpression(): boolean {
    return this.#pattern !== undefined;
  }

  /** Whether a file may have a line that fits: a look at all its bytes at once, for a pattern that is a text. */
  mayFit(bytes: Buffer): boolean {
    return this.#pattern !== undefined || bytes.includes(this.#bytes);
  }

  /** Undefined if finding it out takes too many steps. */
  fits(line: string): boolean | undefined {
    return this.#pattern ? this.#pattern.fits(line, LINE_STEPS) : line.includes(this.#text);
  }
}

function linearPattern(source: string): LinearPattern {
  const read = readPattern(source);
  if (typeof read === "object") return read;
  throw toolFailure(
    `The pattern ${read}. Write it without groups that change flags and without references to groups; [Aa] fits either case, and \\ before a character stands for the character.`,
  );
}

function shown(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : text;
}
