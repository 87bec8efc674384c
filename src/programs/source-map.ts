import { pathOfTool } from "../tools/tool-name.ts";
import type { Fault } from "./outcome.ts";

/** A position in a text. Line and column count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Maps positions in a prepared program to positions in the original source. */
export interface SourceMap {
  readonly source: string;
  readonly toSource: (position: Position) => Position;
}

/** Line terminators of JavaScript. */
const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/;

/** Longest excerpt, in characters. */
const EXCERPT_LENGTH = 160;

/** The only mention of a tool in a source; undefined if there is none or more than one. Locates a failed call whose stack has no position. */
export function onlyMention(source: string, tool: string | undefined): Position | undefined {
  if (tool === undefined) return undefined;
  const index = source.indexOf(pathOfTool(tool));
  if (index < 0 || source.includes(pathOfTool(tool), index + 1)) return undefined;
  return placeAt(source, index);
}

/** The only mention of a tool that does not follow `await`; undefined if there is none or more than one. */
export function onlyUnawaitedMention(source: string, tool: string | undefined): Position | undefined {
  if (tool === undefined) return undefined;
  const mention = pathOfTool(tool);
  const found: number[] = [];
  for (let index = source.indexOf(mention); index >= 0; index = source.indexOf(mention, index + 1))
    if (
      !source
        .slice(Math.max(0, index - 32), index)
        .trimEnd()
        .endsWith("await")
    )
      found.push(index);
  return found.length === 1 ? placeAt(source, found[0] ?? 0) : undefined;
}

/** The first place from `position` on where a name stands as a word; undefined if there is none. */
export function nextMention(source: string, name: string, { line, column }: Position): Position | undefined {
  const lines = source.split(LINE_BREAK);
  for (let at = line; at <= lines.length; at += 1) {
    const text = lines[at - 1] ?? "";
    for (
      let index = text.indexOf(name, at === line ? column - 1 : 0);
      index >= 0;
      index = text.indexOf(name, index + 1)
    )
      if (!isPartOfWord(text[index - 1]) && !isPartOfWord(text[index + name.length]))
        return { line: at, column: index + 1 };
  }
  return undefined;
}

function isPartOfWord(character = ""): boolean {
  return /[\w$.]/.test(character);
}

function placeAt(source: string, index: number): Position {
  const before = source.slice(0, index).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Adds the position and its line of source to a fault. A position outside the source is omitted. */
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
