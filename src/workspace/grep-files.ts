import { LinearPattern } from "../tools/json-schema/patterns/linear-pattern.ts";
import { PatternRefused } from "../tools/json-schema/patterns/parse-pattern.ts";
import { Steps, StepsSpent } from "../tools/json-schema/steps.ts";
import type { CallContext } from "../tools/tool.ts";
import { Slices } from "../values/in-slices.ts";
import { Lane } from "../values/slice-scheduler.ts";
import { FOUND_FIELDS, globOf, isWanted, moreText, PATH_INPUT, FILES_INPUT, type Seen, seenBy } from "./found.ts";
import { isText, linesOf } from "./text-lines.ts";
import { failed, LongFile, type Place, Search, type Workspace } from "./workspace.ts";

/** Matches that are given, if the call does not say how many, and at most. */
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

export interface GrepInput {
  readonly pattern: string;
  readonly path?: string;
  readonly files?: string;
  readonly limit?: number;
}

export interface Match {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export interface Matches extends Seen {
  readonly matches: readonly Match[];
}

export const GREP_INPUT = {
  type: "object",
  properties: {
    pattern: {
      type: "string",
      minLength: 1,
      maxLength: 1000,
      description: "regular expression of ECMAScript with the flag u, for one line; case matters",
    },
    path: PATH_INPUT,
    files: FILES_INPUT,
    limit: { type: "integer", minimum: 1, maximum: MATCHES.max, description: `matches; ${MATCHES.default} by default` },
  },
  required: ["pattern"],
  additionalProperties: false,
};

export const GREP_OUTPUT = {
  type: "object",
  properties: {
    matches: {
      type: "array",
      items: {
        type: "object",
        properties: { path: { type: "string" }, line: { type: "integer" }, text: { type: "string" } },
        required: ["path", "line", "text"],
      },
    },
    ...FOUND_FIELDS,
  },
  required: ["matches"],
};

/** Finds the lines of files that a pattern fits. Files that are no text, and what is too long, are counted. */
export async function grepFiles(
  workspace: Workspace,
  { pattern, path = "", files, limit = MATCHES.default }: GrepInput,
  { caller, tenant, signal }: CallContext,
  { fileBytes, pageBytes }: { readonly fileBytes: number; readonly pageBytes: number },
): Promise<Matches> {
  const test = new LineTest(pattern);
  const glob = files === undefined ? undefined : globOf(files);
  const search = new Search(new Slices(new Lane(tenant)), signal);
  const place = workspace.place(path);
  const isFolder = await workspace.isFolder(place);
  const found = new Found(limit, caller === "direct" ? pageBytes : Number.POSITIVE_INFINITY);
  for await (const file of isFolder ? workspace.files(place, search) : [place]) {
    await search.next();
    if (isFolder && !isWanted(glob, file, search)) continue;
    const bytes = await readText(workspace, file, fileBytes, search, isFolder);
    if (!bytes || !test.mayFit(bytes)) continue;
    for (const line of linesOf(bytes)) {
      // An expression may take as long for each of a thousand short lines as for one long line.
      if (line === undefined || test.isExpression) await search.next();
      if (line === undefined) continue;
      if (line.bytes.length > LINE_BYTES) search.pass("longLines");
      else {
        const text = line.bytes.toString("utf8");
        const fits = test.fits(text);
        if (fits === undefined) search.pass("longLines");
        if (fits) found.add({ path: file.path, line: line.number, text });
      }
    }
  }
  const { matches, left, leftIn } = found;
  const more = moreText(left, "match", `in ${leftIn} ${leftIn === 1 ? "file" : "files"}`);
  return { matches, ...seenBy(search, more) };
}

/** The text of a file; undefined if it is passed over. A file that the call names is not passed over. */
async function readText(
  workspace: Workspace,
  file: Place,
  fileBytes: number,
  search: Search,
  isOneOfMany: boolean,
): Promise<Buffer | undefined> {
  try {
    const bytes = await workspace.read(file, fileBytes);
    if (isText(bytes)) return bytes;
    if (!isOneOfMany) throw failed(`${JSON.stringify(file.path)} is no text in UTF-8.`);
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
    if (this.#pattern === undefined) return line.includes(this.#text);
    try {
      return this.#pattern.test(line, new Steps(LINE_STEPS));
    } catch (error) {
      if (error instanceof StepsSpent) return undefined;
      throw error;
    }
  }
}

function linearPattern(source: string): LinearPattern {
  try {
    return new LinearPattern(source);
  } catch (error) {
    if (!(error instanceof PatternRefused)) throw error;
    throw failed(
      `The pattern ${error.message}. Write it without groups that change flags and without references to groups; [Aa] fits either case, and \\ before a character stands for the character.`,
    );
  }
}

/** Matches that are kept, and how many are not. */
class Found {
  readonly matches: Match[] = [];
  left = 0;
  leftIn = 0;
  readonly #limit: number;
  #bytes: number;
  #last = "";

  constructor(limit: number, bytes: number) {
    this.#limit = limit;
    this.#bytes = bytes;
  }

  add({ path, line, text }: Match): void {
    const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : text;
    const match = { path, line, text: shown };
    this.#bytes -= Buffer.byteLength(JSON.stringify(match));
    if (this.left === 0 && this.matches.length < this.#limit && this.#bytes >= 0) {
      this.matches.push(match);
      return;
    }
    this.left += 1;
    if (this.#last !== path) this.leftIn += 1;
    this.#last = path;
  }
}
