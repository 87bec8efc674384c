import { CALLING_FUNCTIONS } from "../../../tools/tool-name.ts";
import type { ToolPlaces } from "../view.ts";

/** `tools.` and names, or a function that makes calls. No part of it matches in two ways. */
const PATH = new RegExp(
  String.raw`(?<![\w$])(?:tools((?:\.[\p{ID_Continue}$]+)+)|(${[...CALLING_FUNCTIONS.keys()].join("|")})(?![\w$]))`,
  "gu",
);
/** Longest name of a call. */
const NAME_LENGTH = 256;
/** Names that may follow a tool's name, as in `tools.crm.find.bind`. */
const BEHIND = 3;

type Names = Pick<ReadonlySet<string>, "has">;

/** The tools of these names that a source writes, found in one pass however many names there are. */
export function writtenTools(source: string, tools: Names): ReadonlySet<string> {
  return new Set(placesIn(source, tools).map(([tool]) => tool));
}

/** The lines of a source, counted from 1, that write each of these tools by its whole name. */
export function toolPlaces(source: string, tools: Iterable<string>): readonly ToolPlaces[] {
  const lines = new Map<string, Set<number>>();
  for (const tool of tools) lines.set(tool, new Set());
  let line = 1;
  let end = source.indexOf("\n");
  for (const [tool, at] of placesIn(source, lines)) {
    while (end >= 0 && end < at) {
      line += 1;
      end = source.indexOf("\n", end + 1);
    }
    lines.get(tool)?.add(line);
  }
  return [...lines].map(([tool, own]) => ({ tool, lines: [...own] }));
}

/** The places at which a source writes a tool of these names. */
function* placesIn(source: string, tools: Names): Generator<readonly [tool: string, at: number]> {
  for (const { 1: path = "", 2: called, index } of source.matchAll(PATH)) {
    const tool = called === undefined ? toolOf(path.slice(1), tools) : CALLING_FUNCTIONS.get(called);
    if (tool !== undefined && tools.has(tool)) yield [tool, index];
  }
}

/** The tool that a path leads to, or through. */
function toolOf(path: string, tools: Names): string | undefined {
  let end = path.length;
  for (let behind = 0; behind <= BEHIND && end > 0; behind += 1) {
    const name = end <= NAME_LENGTH ? path.slice(0, end) : undefined;
    if (name !== undefined && tools.has(name)) return name;
    end = path.lastIndexOf(".", end - 1);
  }
  return undefined;
}
