import type { Fault } from "./outcome.ts";

/** A place in a text, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Leads from a place in a prepared program to the same place in the source that was handed in. */
export interface SourceMap {
  readonly source: string;
  readonly toSource: (position: Position) => Position;
}

/** What ends a line for JavaScript. */
const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/;

/** Longest excerpt, in characters. */
const EXCERPT_LENGTH = 160;

/** Where a tool is named in a source, if it is named just once: the place of a failed call whose stack does not lead there. */
export function onlyMention(source: string, tool: string | undefined): Position | undefined {
  const index = tool === undefined ? -1 : source.indexOf(`tools.${tool}`);
  if (index < 0 || source.includes(`tools.${tool}`, index + 1)) return undefined;
  const before = source.slice(0, index).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** A fault with its place in the source, and that line of it. A place that is not in the source is left out. */
export function faultAt(source: string, fault: Fault, position: Position | undefined): Fault {
  if (!position) return fault;
  const text = source.split(LINE_BREAK, position.line)[position.line - 1];
  if (text === undefined) return fault;
  const excerpt = text.trim();
  return {
    ...fault,
    line: position.line,
    column: position.column,
    excerpt: excerpt.length <= EXCERPT_LENGTH ? excerpt : `${excerpt.slice(0, EXCERPT_LENGTH - 1)}…`,
  };
}
