import { SourceMap as NodeSourceMap, type SourceMapPayload } from "node:module";
import { isOfFunction, pathOfTool, toolNameFault } from "../../tools/tool-name.ts";
import { occurrences } from "../../base/index.ts";
import type { Fault } from "../outcome.ts";
import { lineStarts, sourceLines, MAP_LINE_ENDS, placeAt, type Position } from "./source-lines.ts";

/** Maps positions in a prepared program to positions in the original source. */
export interface SourceMap {
  readonly source: string;
  readonly toSource: (position: Position) => Position;
}

/** Text inserted into a line: everything from `column` on moved right by `length`. Line and column count from 1. */
export interface Insertion {
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

/** A program that was written anew: the source map of that in JSON, the code before and after. */
export interface Rewriting {
  readonly map: string;
  readonly code: string;
  readonly program: string;
}

/** A program as it is run, and what maps its positions to its source. It is plain data, so that it can cross threads. */
export interface PreparedText {
  readonly source: string;
  readonly program: string;
  readonly insertions: readonly Insertion[];
  /** Undefined if no line was written anew. */
  readonly rewritten: Rewriting | undefined;
}

export function sourceMapOf({ source, insertions, rewritten }: PreparedText): SourceMap {
  const before = placesBefore(rewritten);
  return {
    source,
    toSource: ({ line, column }) => {
      const shift = insertions
        .filter((one) => one.line === line && one.column < column)
        .reduce((sum, one) => sum + Math.min(one.length, column - one.column), 0);
      return before({ line, column: column - shift });
    },
  };
}

/**
 * Tells where a position in a program was before it was written anew. The map is decoded once, when it is first asked for
 * one. A source map knows fewer ends of lines than V8 and acorn.
 */
export function placesBefore(rewritten: Rewriting | undefined): (position: Position) => Position {
  if (rewritten === undefined) return (position) => position;
  let decoded: ReturnType<typeof decode> | undefined;
  return (position) => {
    const { map, code, program } = (decoded ??= decode(rewritten));
    const { line, column } = program.inMap.placeAt(program.lines.offsetOf(position));
    // The texts of the map begin with a line in which a function is opened.
    const found = map.findEntry(line, column - 1);
    if (!("originalLine" in found) || found.originalLine === 0) return { line: 1, column: 1 };
    const place = { line: found.originalLine, column: found.originalColumn + 1 };
    return code.lines.placeAt(code.inMap.offsetOf(place));
  };
}

function decode({ map, code, program }: Rewriting) {
  const starts = (text: string) => ({ lines: lineStarts(text), inMap: lineStarts(text, MAP_LINE_ENDS) });
  return { map: new NodeSourceMap(JSON.parse(map) as SourceMapPayload), code: starts(code), program: starts(program) };
}

const EXCERPT_LENGTH = 160;

/**
 * The only mention of a tool in a source, or the only one that does not follow `await`; undefined if there is none or
 * more than one. Locates a failed call whose stack has no position.
 */
export function onlyMention(source: string, tool: string | undefined, isUnawaited = false): Position | undefined {
  const mention = pathInSource(tool);
  if (mention === undefined) return undefined;
  const isAsked = (at: number) => !isUnawaited || !/await\s{0,32}$/.test(source.slice(Math.max(0, at - 32), at));
  const [first, second] = occurrences(source, mention).filter(isAsked).take(2);
  return first === undefined || second !== undefined ? undefined : placeAt(source, first);
}

/** How a source writes a tool; undefined if no tool can have this name, which a program chooses for its own errors. */
export function pathInSource(tool: string | undefined): string | undefined {
  const isName = tool !== undefined && (isOfFunction(tool) || toolNameFault(tool) === undefined);
  return isName ? pathOfTool(tool) : undefined;
}

/** The first place from `position` on where a name stands as a word; undefined if there is none. */
export function nextMention(source: string, name: string, { line, column }: Position): Position | undefined {
  for (const [index, text] of sourceLines(source)
    .slice(Math.max(0, line - 1))
    .entries()) {
    const found = mentionIn(text, name, index === 0 ? column : 1);
    if (found !== undefined) return { line: line + index, column: found };
  }
  return undefined;
}

/** The column of the first word `name` in a line, from a column on. */
export function mentionIn(line: string, name: string, from: number): number | undefined {
  const isWord = (at: number) =>
    !/[\p{ID_Continue}$.]/u.test(line[at - 1] ?? "") && !/[\p{ID_Continue}$]/u.test(line[at + name.length] ?? "");
  const found = occurrences(line, name, from - 1).find(isWord);
  return found === undefined ? undefined : found + 1;
}

/** Adds the position and its line of source to a fault. A position outside the source is omitted. */
export function faultAt(source: string, fault: Fault, position: Position | undefined): Fault {
  if (!position) return fault;
  const text = sourceLines(source)[position.line - 1];
  if (text === undefined) return fault;
  const excerpt = text.trim();
  return {
    ...fault,
    line: position.line,
    column: position.column,
    excerpt: excerpt.length <= EXCERPT_LENGTH ? excerpt : `${excerpt.slice(0, EXCERPT_LENGTH - 1)}…`,
  };
}
