import { CALLING_FUNCTIONS } from "../../../tools/tool-name.ts";
import type { ToolPlaces } from "../view.ts";

/** `tools.` and names, or a function that makes calls. No part of it matches in two ways. */
const PATH = new RegExp(
  String.raw`(?<![\w$])(?:tools((?:\.[\p{ID_Continue}$]+)+)|(${[...CALLING_FUNCTIONS.keys()].join("|")})(?![\w$]))`,
  "gu",
);

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
    const tool = called === undefined ? path.slice(1) : CALLING_FUNCTIONS.get(called);
    if (tool !== undefined && tools.has(tool)) yield [tool, index];
  }
}
