import { type AnyNode, type FunctionDeclaration, type Options, parse, type Statement, tokenizer } from "acorn";
import { sourceLines, MAP_LINE_ENDS, placeAt, type Position } from "../../guest/source-lines.ts";
import { placesBefore, type Rewriting } from "../../guest/source-map.ts";
import { asFunction, bodyOf, OPENING, placeInBody, placeOf } from "./function-body.ts";
import { type ParsedProgram, syntaxFault, type UnparsedProgram } from "./parsed-program.ts";
import { unwrapExports } from "./unwrap-exports.ts";
import { findNode } from "./syntax-nodes.ts";
import { NOT_ASYNC } from "./find-misused-call.ts";
import { runStripper, type StripError } from "./types/stripper.ts";

/** Maximum nesting depth of brackets. Parsers recurse. */
const DEPTH = 200;

const OPTIONS: Options = { ecmaVersion: "latest", sourceType: "script", allowImportExportEverywhere: true };

/** A call with type arguments, which JavaScript parses as comparisons: `f<string, number>(x)`. */
const TYPE_ARGUMENTS = /[\w$]<[\w$\s,.|&[\]{}:;"'?]+>\(/;

export async function parseProgram(source: string): Promise<ParsedProgram | UnparsedProgram> {
  if (isTooDeep(source))
    return { fault: syntaxFault("The program is nested too deeply to be read."), position: undefined };
  const code = unwrapExports(source.replace(/^(\s*)#!(?!.{0,40}sh\b)/, "$1//"), OPTIONS);
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
function tryParse(code: string, rewritten?: Rewriting): ParsedProgram | UnparsedProgram {
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

function parseOnce(code: string, rewritten?: Rewriting): ParsedProgram | UnparsedProgram {
  const toCode = placesBefore(rewritten);
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
  readonly rewritten: Rewriting | undefined;
}

async function stripTypes(code: string): Promise<Untyped | UnparsedProgram> {
  const stripped = await runStripper(asFunction(code));
  if ("error" in stripped) return unstripped(code, stripped.error);
  const { map } = stripped;
  const program = bodyOf(stripped.code.trimEnd());
  return { code: program, rewritten: map === undefined ? undefined : { map, code, program } };
}

function unstripped(code: string, { code: kind, message = "", startLine, startColumn }: StripError): UnparsedProgram {
  const position =
    startLine === undefined || startColumn === undefined
      ? undefined
      : placeInBody(code, { line: startLine, column: startColumn }, MAP_LINE_ENDS);
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

const NO_IMPORTS =
  "A program cannot import modules. Tools are available as `tools`; write any other code you need into the program.";
const NO_EXPORTS = "A program cannot export values. Use `return` instead.";

const MODULE_SYNTAX: ReadonlyMap<string, string> = new Map([
  ["ImportDeclaration", NO_IMPORTS],
  ["ImportExpression", NO_IMPORTS],
  ["MetaProperty", "A program is not a module and has no import.meta."],
  ["ExportNamedDeclaration", NO_EXPORTS],
  ["ExportDefaultDeclaration", NO_EXPORTS],
  ["ExportAllDeclaration", NO_EXPORTS],
]);

function refuseModuleSyntax(parsed: ParsedProgram): ParsedProgram | UnparsedProgram {
  const found = findNode(
    parsed.body,
    (node) => MODULE_SYNTAX.has(node.type) && !(node.type === "MetaProperty" && node.meta.name === "new"),
  );
  if (!found) return parsed;
  return {
    fault: syntaxFault(MODULE_SYNTAX.get(found.type) ?? "", "program_is_module"),
    position: parsed.toCode(placeOf(parsed.text, found.start)),
  };
}

/** A fault for import or export statements in a program with types. The stripper gives no position for them. */
function moduleFault(code: string): UnparsedProgram | undefined {
  const lines = sourceLines(code);
  const line = lines.findIndex((text) =>
    /^\s*import\s+(?:type\s+)?(?:[\w*{][^;]*\sfrom\s*)?["']|^\s*export\s+(?:default|const|let|var|async|function|class|type|interface|[{*])/.test(
      text,
    ),
  );
  if (line < 0) return undefined;
  const isImport = /^\s*import/.test(lines[line] ?? "");
  return {
    fault: syntaxFault(isImport ? NO_IMPORTS : NO_EXPORTS, "program_is_module"),
    position: { line: line + 1, column: 1 },
  };
}

// ---- texts that are no program ----------------------------------------------------------------------------------

const PYTHON =
  "This is Python, and the program must be JavaScript. Write it as the body of an async JavaScript function.";
/** Replaces the parser's words if a text is plainly something other than JavaScript, and says what it is. */
function explainSyntax(code: string, unread: UnparsedProgram): UnparsedProgram {
  const { fault, position } = unread;
  if (fault.code !== "syntax") return unread;
  const explained = (message: string): UnparsedProgram => ({ fault: { ...fault, message }, position });
  const lines = sourceLines(code);
  if (lines.some(isPython)) return explained(PYTHON);
  if (COMMAND.test(code)) return explained(SHELL);
  if (position === undefined) return unread;
  if (lines[position.line - 1]?.slice(position.column - 2, position.column).includes("\\"))
    return explained("A backslash is outside of the program's strings. Write a line break as one, and not as \\n.");
  if (lines[position.line - 1]?.[position.column - 1] === "@")
    return explained("A program cannot have decorators. Call the function with what it is to wrap.");
  const before = lines[position.line - 1]?.slice(0, position.column - 1).trimEnd() ?? "";
  return /(?:^|[^\w$.])await$/.test(before.slice(-6))
    ? { fault: { ...fault, code: "await_not_async", message: NOT_ASYNC }, position }
    : unread;
}

const SHELL =
  "This is a command for a shell, and the program must be JavaScript. There is no shell: call tools, and compute with JavaScript.";
const COMMAND =
  /^\s*(?:#!.{0,40}sh\b|[$>] |(?:sudo|curl|wget|cd|ls|cat|echo|grep|rg|sed|awk|jq|find|tar|mkdir|rm|cp|mv|npm|npx|pip|pip3|git|docker|kubectl|psql|ssh|export|python3?|node|bash|sh) [\w"'$./~-])/;

/** Words that begin a line of Python that ends with a colon. */
const PYTHON_BLOCKS = new Set("async,class,def,elif,else,except,finally,for,if,try,while,with".split(","));

/** Whether a line can only be Python. It ignores strings and comments of JavaScript, so it is for texts that do not parse. */
function isPython(line: string): boolean {
  const text = (line.split("#", 1)[0] ?? "").trim();
  const first = /^[a-z]{1,8}/.exec(text)?.[0] ?? "";
  if (text.endsWith(":") && PYTHON_BLOCKS.has(first)) return true;
  if (first === "from" && text.includes(" import ")) return true;
  if (first === "import" && /^[A-Za-z_][\w.]*$/.test(text.slice("import ".length))) return true;
  return /\bfor [A-Za-z_]\w{0,64} in |\bprint\(f["']/.test(text);
}
