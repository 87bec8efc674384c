import type { Expression, ExpressionStatement, FunctionDeclaration, Statement, VariableDeclarator } from "acorn";
import type { Language } from "../../../../bridge/frames.ts";
import { type JobAnswer, fieldOf, parsedJson } from "../../../base/index.ts";
import { faultAt, type Insertion } from "../../guest/source-map.ts";
import { findMisusedCall, type ResultKinds } from "./find-misused-call.ts";
import { bodyOf, placeOf } from "./function-body.ts";
import { parseProgram } from "./parse-program.ts";
import type { ParsedProgram, Read, UnparsedProgram } from "./parsed-program.ts";
import { CALLING_FUNCTIONS } from "../../../tools/tool-name.ts";
import { PROGRAM_EMPTY, severalPrograms } from "../refuse-text.ts";
import { beginsWithFence, stripFence } from "./strip-fence.ts";
import { nameOf } from "./syntax-nodes.ts";
import { isStripperSpent } from "./types/stripper.ts";

/** A program to prepare, whose size has been checked. */
export interface Request {
  readonly source: string;
  readonly language: Language;
  readonly tools: ResultKinds;
}

export async function prepareText({ source: written, language, tools }: Request): Promise<JobAnswer<Read>> {
  const text = written.replace(/^\ufeff/, "");
  const source = wrappedProgram(text) ?? text;
  const read = language === "python" ? preparePython(source) : await prepareJavaScript(source, tools);
  // A type stripper that has crashed cannot be used again.
  return { read, isSpent: isStripperSpent() };
}

async function prepareJavaScript(source: string, tools: ResultKinds): Promise<Read> {
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
 * The program within a text that is the JSON of it, or of what a tool for programs takes, which models write in its place. Read
 * as a program it would be a value to return, and no call of its would be made. Undefined for any other text.
 */
function wrappedProgram(source: string): string | undefined {
  if (!/^\s*[{"]/.test(source)) return undefined;
  const value = parsedJson(source);
  const texts = [value, ...["code", "program", "source"].map((name) => fieldOf(value, name))];
  return texts.find((code) => typeof code === "string" && /\btools\s*[.[]/.test(code)) as string | undefined;
}

// ---- what is missing at the end of a program in JavaScript ------------------------------------------------------

interface Edited {
  readonly program: string;
  readonly insertions: readonly Insertion[];
}

/**
 * Adds what is missing at a program's end. That is the `return` of its last expression's value, or the call of a
 * function: of a function that is all it returns, of its only function, or of a `main` that it does not call.
 */
function returnLastExpression({ text, body: statements }: ParsedProgram): Edited {
  const body = statements.filter((statement) => statement.type !== "EmptyStatement" && !isBareVariable(statement));
  const last = body.at(-1);
  const ending = body.findLast(({ type }) => type !== "FunctionDeclaration");
  if (ending?.type === "ReturnStatement" && ending.argument) {
    const returned = ownFunction(ending.argument, body);
    if (returned) return surround(text, ending.argument, "await (", `)${argumentsOf(returned)}`);
  }
  if (last?.type === "ExpressionStatement" && last.directive !== "use strict" && isWorthReturning(last.expression)) {
    const isCalled = isFunction(last.expression) && body.length === 1;
    return surround(text, last, "return await (", isCalled ? `)${argumentsOf(last.expression)}` : ")");
  }
  const called = uncalledFunction(text, body);
  return {
    program: `${bodyOf(text)}${called === undefined ? "" : `\nreturn await ${called.name}${argumentsOf(called.function)};`}`,
    insertions: [],
  };
}

/** A namespace of TypeScript leaves a variable without a value behind the program. */
function isBareVariable(statement: Statement): boolean {
  return (
    statement.type === "VariableDeclaration" &&
    statement.kind === "var" &&
    statement.declarations.every(({ init }) => !init)
  );
}

type AnyFunction = FunctionDeclaration | Expression;

/** A function, or the one of this name that these statements declare. No program returns a function. */
function ownFunction(expression: Expression, body: readonly Statement[]): AnyFunction | undefined {
  if (expression.type !== "Identifier") return isFunction(expression) ? expression : undefined;
  const named = body.map(namedFunction).filter((one) => one?.name === expression.name);
  return named.length === 1 ? named[0]?.function : undefined;
}

/** A function that takes `{ tools }` apart gets them so, with the other globals that it takes. */
function argumentsOf(called: AnyFunction): string {
  const [first] = "params" in called ? called.params : [];
  const pattern = first?.type === "AssignmentPattern" ? first.left : first;
  const parts = pattern?.type === "ObjectPattern" ? pattern.properties : [];
  const names = parts.map((one) => (one.type === "Property" && nameOf(one.key)) || "");
  const params = names.filter((name) => name === "tools" || name === "console" || CALLING_FUNCTIONS.has(name));
  return params.includes("tools") ? `({ ${params.join(", ")} })` : "(tools)";
}

/** The function to call in a program of declarations only: its only function, or a `main` that is not referenced. */
function uncalledFunction(text: string, body: readonly Statement[]): NamedFunction | undefined {
  if (!body.every(({ type }) => DECLARING.has(type))) return undefined;
  const named = body.map(namedFunction);
  if (named.length === 1) return named[0];
  const main = named.find((one) => one?.name === "main");
  return named.every((one) => one !== undefined) || isMentionedOnce(text, "main") ? main : undefined;
}

const DECLARING = new Set(["FunctionDeclaration", "VariableDeclaration", "ClassDeclaration"]);

interface NamedFunction {
  readonly name: string;
  readonly function: AnyFunction;
}

function namedFunction(statement: Statement): NamedFunction | undefined {
  if (statement.type === "FunctionDeclaration") return { name: statement.id.name, function: statement };
  if (statement.type !== "VariableDeclaration" || statement.declarations.length !== 1) return undefined;
  const [{ id, init }] = statement.declarations as [VariableDeclarator];
  return id.type === "Identifier" && init && isFunction(init) ? { name: id.name, function: init } : undefined;
}

function isMentionedOnce(text: string, name: string): boolean {
  return text.split(new RegExp(`\\b${name}\\b`)).length === 2;
}

function isFunction(expression: Expression): boolean {
  return (
    expression.type === "ArrowFunctionExpression" || (expression.type === "FunctionExpression" && !expression.generator)
  );
}

/** A last assignment is there for its effect, so its value is not returned. */
function isWorthReturning(expression: Expression): boolean {
  return expression.type !== "AssignmentExpression" && expression.type !== "UpdateExpression";
}

function surround(text: string, statement: ExpressionStatement | Expression, before: string, after: string): Edited {
  const bare = text.slice(statement.start, statement.end).replace(/;$/, "");
  return {
    // Without the line break a comment at the end of the expression would hide the inserted text.
    program: bodyOf(
      `${text.slice(0, statement.start)}${before}${bare}\n${after}${statement.type === "ExpressionStatement" ? ";" : ""}${text.slice(statement.end)}`,
    ),
    insertions: [{ ...placeOf(text, statement.start), length: before.length }],
  };
}

// ---- Python -----------------------------------------------------------------------------------------------------

/** Python's strings and comments. A triple-quoted string that does not end goes on to the end of the text. */
const STRING_OR_COMMENT =
  /"""(?:[^"\\]|\\[^]?|"(?!""))*(?:"""|$)|'''(?:[^'\\]|\\[^]?|'(?!''))*(?:'''|$)|(["'])(?:(?!\1)[^\\\n]|\\[^])*\1?|#[^\n\r\u2028\u2029]*/g;
const STRING_OR_COMMENT_IN_LINE = /(["'])(?:(?!\1)[^\\\n]|\\[^])*\1?|#[^\n\r\u2028\u2029]*/g;

/** Line terminators in JavaScript that do not end a line in Python. They are replaced in the text that fault positions refer to. */
const OTHER_LINE_BREAKS = /[\u2028\u2029]/g;

/** Removes the Markdown around a Python program; lines stay. The guest does the rest, with Python's own parser. */
export function preparePython(written: string): Read {
  const source = withLineBreaks(written, "python") ?? written;
  const stripped = stripFence(source, "python", withoutStrings(source));
  if (stripped.type === "several") return { ok: false, fault: severalPrograms(stripped.count) };
  const program = stripped.type === "code" ? stripped.code : source;
  if (program.trim() === "") return { ok: false, fault: PROGRAM_EMPTY };
  const lines = source.replaceAll(OTHER_LINE_BREAKS, " ");
  return { ok: true, text: { source: lines, program, insertions: [], rewritten: undefined } };
}

/**
 * The text with each character of its strings and comments replaced by x: a string may contain Markdown. An apostrophe in a
 * line of prose starts a string too, but that string ends with its line: only triple-quoted strings span lines, if they end.
 */
function withoutStrings(source: string): string {
  const masked = (found: string) => found.replaceAll(/[^\n]/g, "x");
  return source.replaceAll(STRING_OR_COMMENT, (found) => {
    const [marks] = /^(?:"""|''')/.exec(found) ?? [];
    const isOpen = marks !== undefined && !(found.length >= 6 && found.endsWith(marks));
    // Each further one would be looked for to the end of the text.
    return isOpen ? found.replaceAll(STRING_OR_COMMENT_IN_LINE, masked) : masked(found);
  });
}

/** What is kept as it is: strings, templates and comments. A comment of a text in one line ends where its line was to end. */
const KEPT: Readonly<Record<Language, RegExp>> = {
  javascript:
    /"(?:[^"\\]|\\.?)*(?:"|$)|'(?:[^'\\]|\\.?)*(?:'|$)|`(?:[^`\\]|\\.?)*(?:`|$)|\/\*[^]*?\*\/|\/\/(?:(?!\\n).)*|(?:\\r)?\\n|\\t/g,
  python: /"""[^]*?"""|'''[^]*?'''|"(?:[^"\\]|\\.?)*(?:"|$)|'(?:[^'\\]|\\.?)*(?:'|$)|#(?:(?!\\n).)*|(?:\\r)?\\n|\\t/g,
};

/** The same for JavaScript in several lines. */
const KEPT_IN_LINES =
  /"(?:[^"\\]|\\.?)*(?:"|$)|'(?:[^'\\]|\\.?)*(?:'|$)|`(?:[^`\\]|\\.?)*(?:`|$)|\/\*[^]*?\*\/|\/\/.*|(?:\\r)?\\n|\\t/g;

/**
 * A program with line breaks where its model wrote `\n` between the lines: no program has a backslash there. Undefined for a
 * text without any, and for Python in several lines, whose `\n` may be anything.
 */
function withLineBreaks(source: string, language: Language): string | undefined {
  const text = source.trim();
  const isOneLine = !/[\r\n]/.test(text);
  if (!text.includes("\\n") || (language === "python" && !isOneLine)) return undefined;
  const broken = text.replaceAll(isOneLine ? KEPT[language] : KEPT_IN_LINES, (found) => {
    if (found === "\\t") return "\t";
    return found === "\\n" || found === "\\r\\n" ? "\n" : found;
  });
  return broken === text ? undefined : broken;
}
