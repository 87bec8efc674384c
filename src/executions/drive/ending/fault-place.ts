import type { FaultBody } from "../../../../bridge/frames.ts";
import { sourceLines, offsetOf, placeAt, type Position } from "../../guest/source-lines.ts";
import { mentionIn, nextMention, onlyMention, pathInSource, type SourceMap } from "../../guest/source-map.ts";

/**
 * The place in the source that a fault is about; undefined if it is not known. If a name is wrong, this is the place of
 * the name: V8 points to the statement, the `await` or the property after the name.
 */
export function placeOfFault({ source, toSource }: SourceMap, fault: FaultBody): Position | undefined {
  const { line, column, name, message } = fault;
  if (line === undefined || column === undefined) return placeOfCall(source, fault);
  const position = toSource({ line, column });
  if (name === "ToolError") return placeInCall(source, fault, position) ?? position;
  const missing = /^([\w$]{1,64}) is not defined$/.exec(message)?.[1];
  if (missing !== undefined) return nextMention(source, missing, position) ?? position;
  const read = /^Cannot read properties of (?:undefined|null) \(reading '([^']{1,128})'\)$/.exec(message)?.[1];
  return read === undefined ? position : nameBefore(source, position);
}

/** Place of a call that a fault without a position is about. The guest knows no place of a value that it cannot encode. */
function placeOfCall(source: string, { code, tool }: FaultBody): Position | undefined {
  return (code === "value_not_json" ? onlyMention(source, tool, true) : undefined) ?? onlyMention(source, tool);
}

/** Place of the tool that a call's error is about. V8 gives the place of the `await`. */
function placeInCall(source: string, { tool }: FaultBody, position: Position): Position | undefined {
  const last = tool?.split(".").at(-1);
  // An error that is thrown when the call is made has the place of the tool's name already.
  const isThere = last !== undefined && source.startsWith(last, offsetOf(source, position));
  return isThere ? position : (mentionInLine(source, tool, position) ?? onlyMentionAfter(source, tool, position));
}

/** The first mention of a tool in the rest of a line: its path or, if the program has taken the tool out of `tools`, an end of its path. */
function mentionInLine(source: string, tool: string | undefined, { line, column }: Position): Position | undefined {
  const path = pathInSource(tool)?.split(".") ?? [];
  const text = sourceLines(source)[line - 1] ?? "";
  for (let from = 0; from < path.length; from += 1) {
    const found = mentionIn(text, path.slice(from).join("."), column);
    if (found !== undefined) return { line, column: found };
  }
  return undefined;
}

/** The only mention of a tool, if it is in a later line: the expression at the position may be a list of calls in several lines. */
function onlyMentionAfter(source: string, tool: string | undefined, { line }: Position): Position | undefined {
  const mention = onlyMention(source, tool);
  return mention && mention.line > line ? mention : undefined;
}

const NAME = /[\w$]{1,128}$/;
const NAME_BEFORE_PROPERTY = /[\w$]{1,128}\s{0,64}(?:\?\.)?(?:\.|\[["'`]?)?(?<=[.["'`])$/;

/** The name whose value is missing: `items` in `rows.items.length`. V8 gives the place of `length`. */
function nameBefore(source: string, position: Position): Position {
  const offset = offsetOf(source, position);
  const before = source.slice(Math.max(0, offset - 256), offset);
  const name = (source[offset] === "[" ? NAME : NAME_BEFORE_PROPERTY).exec(before);
  return name ? placeAt(source, offset - before.length + name.index) : position;
}
