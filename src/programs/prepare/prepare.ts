import type { Language } from "../../../bridge/frames.ts";
import { findMissingAwait } from "./find-missing-await.ts";
import { placeOf } from "./function-body.ts";
import { parseProgram } from "./parse-program.ts";
import type { ReadProgram, UnreadProgram } from "./read-program.ts";
import type { Prepared } from "./prepared.ts";
import { preparePython } from "./prepare-python.ts";
import { PROGRAM_EMPTY, refuseText, severalPrograms } from "./refuse-text.ts";
import { returnLastExpression } from "./return-last.ts";
import { faultAt, type Position } from "../source-map.ts";
import { beginsWithFence, stripFence } from "./strip-fence.ts";
import type { Reader } from "./type-stripper.ts";

/**
 * Turns a model's text into the body of an async function: removes text around the code, strips types, calls a lone
 * function, returns a last expression. Line numbers change only where TypeScript has to be written anew; the map leads
 * each position back to the source. A program that cannot run, or that uses the promise of one of these tools as its
 * result, is refused here, before an engine is started.
 */
export async function prepare(
  source: string,
  language: Language = "javascript",
  reader: Reader = { tenant: "" },
  tools: ReadonlySet<string> = new Set(),
): Promise<Prepared> {
  const refused = refuseText(source);
  if (refused) return { ok: false, fault: refused };
  return language === "python" ? preparePython(source) : prepareJavaScript(source, reader, tools);
}

async function prepareJavaScript(source: string, reader: Reader, tools: ReadonlySet<string>): Promise<Prepared> {
  const parsed = await readCode(source, reader);
  if ("fault" in parsed) return { ok: false, fault: faultAt(source, parsed.fault, parsed.position) };
  const missing = findMissingAwait(parsed, tools);
  if (missing) {
    const { code, message, offset } = missing;
    return {
      ok: false,
      fault: faultAt(source, { name: "ProgramError", code, message }, parsed.toCode(placeOf(parsed.text, offset))),
    };
  }
  const { program, insertions } = returnLastExpression(parsed);
  const toSource = ({ line, column }: Position): Position => {
    const shift = insertions
      .filter((one) => one.line === line && one.column < column)
      .reduce((sum, one) => sum + Math.min(one.length, column - one.column), 0);
    return parsed.toCode({ line, column: column - shift });
  };
  return { ok: true, program, map: { source, toSource } };
}

/** Parses a text as a program, or else as Markdown that contains one. */
async function readCode(source: string, reader: Reader): Promise<ReadProgram | UnreadProgram> {
  const unfenced = beginsWithFence(source) ? undefined : await parseProgram(source, reader);
  if (unfenced && "body" in unfenced && !startsWithTemplateOfFence(unfenced)) return unfenced;
  const stripped = stripFence(source, "javascript");
  switch (stripped.type) {
    case "none":
      return unfenced ?? parseProgram(source, reader);
    case "several":
      return { fault: severalPrograms(stripped.count), position: undefined };
    case "code":
      return stripped.code.trim() === ""
        ? { fault: PROGRAM_EMPTY, position: undefined }
        : parseProgram(stripped.code, reader);
  }
}

/**
 * Whether the first statement is a fence, after a comment or a label. JavaScript parses a fence as an empty template
 * literal that tags the next one, which is never intended.
 */
function startsWithTemplateOfFence({ text, body: [first] }: ReadProgram): boolean {
  const statement = first?.type === "LabeledStatement" ? first.body : first;
  return statement !== undefined && text.startsWith("```", statement.start);
}
