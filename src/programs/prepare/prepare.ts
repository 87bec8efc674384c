import type { Language } from "../../../bridge/frames.ts";
import { parseProgram, type ReadProgram, type UnreadProgram } from "./parse-program.ts";
import type { Prepared } from "./prepared.ts";
import { preparePython } from "./prepare-python.ts";
import { PROGRAM_EMPTY, refuseText, severalPrograms } from "./refuse-text.ts";
import { returnLastExpression } from "./return-last.ts";
import { faultAt, type Position } from "../source-map.ts";
import { beginsWithFence, stripFence } from "./strip-fence.ts";
import type { Reader } from "./type-stripper.ts";

/**
 * Turns what a model wrote into the body of an async function: text round the code is dropped, types are
 * stripped, a bare function is called, a last expression is returned. Everything stays on its line, and the map
 * leads every position back to the source. What cannot run is told here, before anything is started.
 */
export async function prepare(
  source: string,
  language: Language = "javascript",
  reader: Reader = { tenant: "" },
): Promise<Prepared> {
  const refused = refuseText(source);
  if (refused) return { ok: false, fault: refused };
  return language === "python" ? preparePython(source) : prepareJavaScript(source, reader);
}

async function prepareJavaScript(source: string, reader: Reader): Promise<Prepared> {
  const parsed = await readCode(source, reader);
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
async function readCode(source: string, reader: Reader): Promise<ReadProgram | UnreadProgram> {
  const asItIs = beginsWithFence(source) ? undefined : await parseProgram(source, reader);
  if (asItIs && "body" in asItIs && !startsWithTemplateOfFence(asItIs)) return asItIs;
  const stripped = stripFence(source, "javascript");
  switch (stripped.type) {
    case "none":
      return asItIs ?? parseProgram(source, reader);
    case "several":
      return { fault: severalPrograms(stripped.count), position: undefined };
    case "code":
      return stripped.code.trim() === ""
        ? { fault: PROGRAM_EMPTY, position: undefined }
        : parseProgram(stripped.code, reader);
  }
}

/**
 * Whether a fence is the first statement, behind a comment or a word with a colon: JavaScript reads it as an empty
 * template literal that is called with the next one, which no author means.
 */
function startsWithTemplateOfFence({ text, body: [first] }: ReadProgram): boolean {
  const statement = first?.type === "LabeledStatement" ? first.body : first;
  return statement !== undefined && text.startsWith("```", statement.start);
}
