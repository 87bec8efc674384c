import type { Statement } from "acorn";
import type { Fault } from "../../outcome.ts";
import type { Position } from "../../guest/source-lines.ts";
import type { Insertion, PreparedText, Rewriting } from "../../guest/source-map.ts";

export type Read = { readonly ok: true; readonly text: PreparedText } | { readonly ok: false; readonly fault: Fault };

export interface ParsedProgram {
  /** The program as JavaScript, without types, wrapped in a function. */
  readonly text: string;
  /** Its statements, with their offsets in `text`. */
  readonly body: readonly Statement[];
  /** Maps a position in the body of `text` to a position in the code that was read. */
  readonly toCode: (position: Position) => Position;
  /** What `toCode` reads, if the program was written anew. */
  readonly rewritten: Rewriting | undefined;
  /** What was added before a last object. */
  readonly inserted?: Insertion;
}

export interface UnparsedProgram {
  readonly fault: Fault;
  readonly position: Position | undefined;
}

export function syntaxFault(message: string, code = "syntax"): Fault {
  return { name: "SyntaxError", code, message };
}
