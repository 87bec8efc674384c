import { parseProgram, type ReadProgram, type UnreadProgram } from "./parse-program.ts";
import { returnLastExpression } from "./return-last.ts";
import { faultAt, type Position, type SourceMap } from "./source-map.ts";
import type { Fault } from "./outcome.ts";
import { beginsWithFence, stripFence } from "./strip-fence.ts";

/** Most bytes of a program: some 16,000 tokens. Reading the worst of them holds the host's thread for about 30 ms. */
export const PROGRAM_BYTES = 64 * 1024;

export type Prepared =
  | { readonly ok: true; readonly program: string; readonly map: SourceMap }
  | { readonly ok: false; readonly fault: Fault };

/**
 * Turns what a model wrote into the body of an async function: text round the code is dropped, types are
 * stripped, a bare function is called, a last expression is returned. Everything stays on its line, and the map
 * leads every position back to the source. What cannot run is told here, before anything is started.
 */
export function prepare(source: string): Prepared {
  const refused = refuseText(source);
  if (refused) return { ok: false, fault: refused };
  const parsed = readCode(source);
  if ("fault" in parsed) return { ok: false, fault: faultAt(source, parsed.fault, parsed.position) };
  const { program, insertions } = returnLastExpression(parsed);
  const toSource = ({ line, column }: Position): Position => {
    const shift = insertions
      .filter((one) => one.line === line && one.column < column)
      .reduce((sum, one) => sum + Math.min(one.length, column - one.column), 0);
    return { line, column: column - shift };
  };
  return { ok: true, program, map: { source, toSource } };
}

/** Reads a text as a program, or where it is none, as Markdown with a program in it. */
function readCode(source: string): ReadProgram | UnreadProgram {
  const asItIs = beginsWithFence(source) ? undefined : parseProgram(source);
  if (asItIs && "body" in asItIs && !startsWithTemplateOfFence(asItIs)) return asItIs;
  const stripped = stripFence(source);
  switch (stripped.type) {
    case "none":
      return asItIs ?? parseProgram(source);
    case "several":
      return { fault: severalPrograms(stripped.count), position: undefined };
    case "code":
      return stripped.code.trim() === "" ? { fault: PROGRAM_EMPTY, position: undefined } : parseProgram(stripped.code);
  }
}

function severalPrograms(count: number): Fault {
  return {
    name: "ProgramError",
    code: "programs_several",
    message: `The text has ${count} blocks of code, and each may be the program. Send one program, in one block or in none.`,
  };
}

/**
 * Whether a fence is the first statement, behind a comment or a word with a colon: JavaScript reads it as an empty
 * template literal that is called with the next one, which nobody means.
 */
function startsWithTemplateOfFence({ text, body: [first] }: ReadProgram): boolean {
  const statement = first?.type === "LabeledStatement" ? first.body : first;
  return statement !== undefined && text.startsWith("```", statement.start);
}

const PROGRAM_EMPTY: Fault = {
  name: "ProgramError",
  code: "program_empty",
  message: "The program is empty. Write the body of an async function that calls tools and returns a value.",
};

function refuseText(source: string): Fault | undefined {
  if (source.trim() === "") return PROGRAM_EMPTY;
  const bytes = Buffer.byteLength(source);
  if (bytes > PROGRAM_BYTES)
    return {
      name: "ProgramError",
      code: "program_too_large",
      message: `The program has ${bytes} bytes, at most ${PROGRAM_BYTES} are allowed. Fetch data with tools instead of writing it into the program.`,
    };
  const control = source.search(/[\0-\x08\x0e-\x1f]|\ufffd{3}/);
  if (control >= 0)
    return {
      name: "ProgramError",
      code: "program_not_text",
      message: `The program is not text: character ${control + 1} cannot stand in a program. Send its source code.`,
    };
  return undefined;
}
