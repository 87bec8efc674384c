import type { Statement } from "acorn";
import type { Fault } from "../outcome.ts";
import type { Position } from "../source-map.ts";

export interface ReadProgram {
  /** The program as JavaScript, without types, wrapped in a function. */
  readonly text: string;
  /** Its statements, with their offsets in `text`. */
  readonly body: readonly Statement[];
  /** The position in the code that was read, of a position in the body of `text`. */
  readonly toCode: (position: Position) => Position;
}

export interface UnreadProgram {
  readonly fault: Fault;
  readonly position: Position | undefined;
}

export function syntaxFault(message: string, code = "syntax"): Fault {
  return { name: "SyntaxError", code, message };
}
