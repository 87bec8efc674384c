import { pathOfTool } from "../tools/tool-name.ts";
import type { ToolPlaces } from "./view.ts";

const PART_OF_NAME = /[\w$]/;

/** The lines of a source, counted from 1, that write each of these tools by its whole name. */
export function toolPlaces(source: string, tools: Iterable<string>): readonly ToolPlaces[] {
  const starts = lineStarts(source);
  return [...tools].map((tool) => ({ tool, lines: linesWith(source, pathOfTool(tool), starts) }));
}

function linesWith(source: string, path: string, starts: readonly number[]): readonly number[] {
  const lines = new Set<number>();
  let line = 0;
  for (let at = source.indexOf(path); at >= 0; at = source.indexOf(path, at + path.length)) {
    if (PART_OF_NAME.test(source[at - 1] ?? "") || PART_OF_NAME.test(source[at + path.length] ?? "")) continue;
    while (line < starts.length && (starts[line] ?? 0) <= at) line += 1;
    lines.add(line);
  }
  return [...lines];
}

function lineStarts(source: string): readonly number[] {
  const starts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
