import { type AnyNode, type FunctionDeclaration, type Options, parse, type Statement, tokenizer } from "acorn";
import { placeAt, type Position } from "../../guest/source-lines.ts";
import { beforeRewriting, type RewrittenPlaces } from "../../guest/source-map.ts";
import { explainSyntax } from "./explain-syntax.ts";
import { asFunction, bodyOf, OPENING, placeInBody } from "./function-body.ts";
import { moduleFault, refuseModuleSyntax } from "./module-syntax.ts";
import { type ParsedProgram, syntaxFault, type UnparsedProgram } from "./parsed-program.ts";
import { unwrapExports } from "./unwrap-exports.ts";
import { findNode } from "./syntax-nodes.ts";
import { NOT_ASYNC } from "./find-misused-call.ts";
import { readMappings, STRIPPER_LINE_ENDS } from "./types/read-mappings.ts";
import { runStripper, type StripError } from "./types/stripper.ts";

/** Maximum nesting depth of brackets. Parsers recurse. */
const DEPTH = 200;

const OPTIONS: Options = { ecmaVersion: "latest", sourceType: "script", allowImportExportEverywhere: true };

/** A call with type arguments, which JavaScript parses as comparisons: `f<string, number>(x)`. */
const TYPE_ARGUMENTS = /[\w$]<[\w$\s,.|&[\]{}:;"'?]+>\(/;

export async function parseProgram(source: string): Promise<ParsedProgram | UnparsedProgram> {
  if (isTooDeep(source))
    return { fault: syntaxFault("The program is nested too deeply to be read."), position: undefined };
  const code = unwrapExports(source.replace(/^(\ufeff?)#!(?!.{0,40}sh\b)/, "$1//"), OPTIONS);
  const parsed = await parseCode(code);
  return "fault" in parsed ? explainSyntax(code, parsed) : parsed;
}

async function parseCode(code: string): Promise<ParsedProgram | UnparsedProgram> {
  const asJavaScript = tryParse(code);
  if ("body" in asJavaScript && !mayHaveTypes(code, asJavaScript)) return refuseModuleSyntax(asJavaScript);
  const stripped = await stripTypes(code);
  if ("code" in stripped) {
    const asTypeScript = tryParse(stripped.code, stripped.rewritten);
    return "body" in asTypeScript ? refuseModuleSyntax(asTypeScript) : asTypeScript;
  }
  if ("body" in asJavaScript) return refuseModuleSyntax(asJavaScript);
  return stripped.fault.code === "syntax" ? asJavaScript : stripped;
}

/** Whether a program that parses as JavaScript is more likely TypeScript. */
function mayHaveTypes(code: string, { body }: ParsedProgram): boolean {
  return code.includes("<") && (TYPE_ARGUMENTS.test(code) || findNode(body, comparesComparison) !== undefined);
}

/** `f<A<B>>(x)`, `f<(A | B)>(x)`: these parse as a comparison of a comparison's result, which programs do not use. */
function comparesComparison(node: AnyNode): boolean {
  if (node.type !== "BinaryExpression" || !COMPARING.has(node.operator)) return false;
  return node.left.type === "BinaryExpression" && node.left.operator === "<";
}

const COMPARING: ReadonlySet<string> = new Set(["<", ">", ">=", ">>", ">>>"]);

function isTooDeep(code: string): boolean {
  let depth = 0;
  try {
    for (const { type } of tokenizer(code, OPTIONS)) {
      if (/^[([{]$|^\$\{$/.test(type.label)) depth += 1;
      else if (/^[)\]}]$/.test(type.label)) depth -= 1;
      if (depth > DEPTH) return true;
    }
  } catch {
    // The parser will report the same error.
  }
  return false;
}

/** Parses a program. A last line `{ total, n }`, which is a block or none, is read as an object to return. */
function tryParse(code: string, rewritten?: RewrittenPlaces): ParsedProgram | UnparsedProgram {
  const parsed = parseOnce(code, rewritten);
  const last = "body" in parsed ? parsed.body.findLast(({ type }) => type !== "EmptyStatement") : undefined;
  if ("body" in parsed && !isObjectAsBlock(last)) return parsed;
  const starts = last ? [last.start - OPENING.length] : [...code.matchAll(/^\{/gm)].map(({ index }) => index);
  const start = starts.at(-1);
  if (start === undefined) return parsed;
  const returning = parseOnce(`${code.slice(0, start)}${RETURN}${code.slice(start)}`, rewritten);
  if (!("body" in returning)) return parsed;
  const inserted = { ...placeAt(code, start), length: RETURN.length };
  const toCode = ({ line, column }: Position) => {
    const isBehind = line === inserted.line && column > inserted.column;
    return returning.toCode({ line, column: isBehind ? Math.max(inserted.column, column - RETURN.length) : column });
  };
  return { ...returning, toCode, inserted };
}

const RETURN = "return ";

/** Whether a statement is a block of nothing but names or one label. */
function isObjectAsBlock(statement: Statement | undefined): boolean {
  if (statement?.type !== "BlockStatement" || statement.body.length !== 1) return false;
  const [only] = statement.body;
  if (only?.type === "LabeledStatement") return only.body.type === "ExpressionStatement";
  if (only?.type !== "ExpressionStatement") return false;
  const { expression } = only;
  const parts = expression.type === "SequenceExpression" ? expression.expressions : [expression];
  return parts.every(({ type }) => type === "Identifier");
}

function parseOnce(code: string, rewritten?: RewrittenPlaces): ParsedProgram | UnparsedProgram {
  const toCode = (position: Position) => beforeRewriting(rewritten, position);
  const text = asFunction(code);
  try {
    const [program, more] = parse(text, OPTIONS).body;
    if (more) return { fault: syntaxFault("A closing bracket has no opening bracket."), position: undefined };
    return { text, body: (program as FunctionDeclaration).body.body, toCode, rewritten };
  } catch (error) {
    const { message, loc } = error as { message: string; loc?: Position };
    return {
      fault: syntaxFault(`${message.replace(/ \(\d+:\d+\)$/, "")}.`),
      position: loc && toCode(placeInBody(code, loc)),
    };
  }
}

interface Untyped {
  readonly code: string;
  readonly rewritten: RewrittenPlaces | undefined;
}

async function stripTypes(code: string): Promise<Untyped | UnparsedProgram> {
  const text = asFunction(code);
  const stripped = await runStripper(text);
  if ("error" in stripped) return unstripped(code, stripped.error);
  const { map } = stripped;
  return {
    code: bodyOf(stripped.code.trimEnd()),
    rewritten: map === undefined ? undefined : readMappings(map, text, stripped.code),
  };
}

function unstripped(code: string, { code: kind, message = "", startLine, startColumn }: StripError): UnparsedProgram {
  const position =
    startLine === undefined || startColumn === undefined
      ? undefined
      : placeInBody(code, { line: startLine, column: startColumn }, STRIPPER_LINE_ENDS);
  if (kind === "InvalidSyntax") {
    if (message.startsWith("await isn't allowed"))
      return { fault: syntaxFault(NOT_ASYNC, "await_not_async"), position };
    return moduleFault(code) ?? { fault: syntaxFault(`${message}.`), position: undefined };
  }
  if (kind !== "UnsupportedSyntax" && kind !== "TransformFailed")
    return { fault: syntaxFault("The program cannot be read."), position: undefined };
  const words = message.replace(/ in (strip-only|type strip) mode/, "").replace(/\.$/, "");
  return {
    fault: syntaxFault(`${words}. Write this as plain JavaScript.`, "typescript_unsupported"),
    position,
  };
}
