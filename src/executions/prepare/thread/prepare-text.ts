import type { Language } from "../../../../bridge/frames.ts";
import { type Answer, parsedJson, textOf } from "../../../base/index.ts";
import { faultAt } from "../../guest/source-map.ts";
import { findMisusedCall, type GivenByTools } from "./find-misused-call.ts";
import { placeOf } from "./function-body.ts";
import { parseProgram } from "./parse-program.ts";
import { withLineBreaks } from "./line-breaks.ts";
import { preparePython } from "./prepare-python.ts";
import type { ParsedProgram, Read, UnparsedProgram } from "./parsed-program.ts";
import { PROGRAM_EMPTY, severalPrograms } from "../refuse-text.ts";
import { returnLastExpression } from "./return-last.ts";
import { beginsWithFence, stripFence } from "./strip-fence.ts";
import { isStripperSpent } from "./types/stripper.ts";

/** A program to prepare, whose size has been checked. */
export interface Request {
  readonly source: string;
  readonly language: Language;
  readonly tools: GivenByTools;
}

export async function prepareText({ source: written, language, tools }: Request): Promise<Answer<Read>> {
  const source = wrappedProgram(written) ?? written;
  const read = language === "python" ? preparePython(source) : await prepareJavaScript(source, tools);
  // A type stripper that has crashed cannot be used again.
  return { read, isSpent: isStripperSpent() };
}

async function prepareJavaScript(source: string, tools: GivenByTools): Promise<Read> {
  const parsed = await readCode(source);
  // Without its line breaks, a program that begins with a comment is one.
  const isProgram = "body" in parsed && parsed.body.length > 0;
  const broken = isProgram ? undefined : withLineBreaks(source, "javascript");
  if (broken !== undefined && "body" in (await readCode(broken))) return prepareJavaScript(broken, tools);
  if ("fault" in parsed) return { ok: false, fault: faultAt(source, parsed.fault, parsed.position) };
  const misused = findMisusedCall(parsed, tools);
  if (misused) {
    const { code, message, offset } = misused;
    return {
      ok: false,
      fault: faultAt(source, { name: "ProgramError", code, message }, parsed.toCode(placeOf(parsed.text, offset))),
    };
  }
  const { program, insertions } = returnLastExpression(parsed);
  const inserted = parsed.inserted ? [parsed.inserted] : [];
  return { ok: true, text: { source, program, insertions: [...inserted, ...insertions], rewritten: parsed.rewritten } };
}

/** Parses a text as a program, or else as Markdown that contains one. */
async function readCode(source: string): Promise<ParsedProgram | UnparsedProgram> {
  const unfenced = beginsWithFence(source) ? undefined : await parseProgram(source);
  if (unfenced && "body" in unfenced && !startsWithTemplateOfFence(unfenced)) return unfenced;
  const stripped = stripFence(source, "javascript");
  switch (stripped.type) {
    case "none":
      return unfenced ?? parseProgram(source);
    case "several":
      return { fault: severalPrograms(stripped.count), position: undefined };
    case "code":
      return stripped.code.trim() === "" ? { fault: PROGRAM_EMPTY, position: undefined } : parseProgram(stripped.code);
  }
}

/**
 * Whether the first statement is a fence, after a comment or a label. JavaScript parses a fence as an empty template
 * literal that tags the next template literal, which is never intended.
 */
function startsWithTemplateOfFence({ text, body: [first] }: ParsedProgram): boolean {
  const statement = first?.type === "LabeledStatement" ? first.body : first;
  return statement !== undefined && text.startsWith("```", statement.start);
}

/**
 * The program within a text that is the JSON of what a tool for programs takes, which models write in place of the program. Read
 * as a program it would be an object to return, and no call of its would be made. Undefined for any other text.
 */
function wrappedProgram(source: string): string | undefined {
  if (!/^\s*\{/.test(source)) return undefined;
  const code = textOf(parsedJson(source), "code");
  return code !== undefined && /\btools\s*[.[]/.test(code) ? code : undefined;
}
