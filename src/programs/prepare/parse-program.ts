import {
  type BinaryExpression,
  type FunctionDeclaration,
  type Node,
  type Options,
  parse,
  type Statement,
  tokenizer,
} from "acorn";
import { SourceMap, type SourceMapPayload } from "node:module";
import { setImmediate as nextTurn } from "node:timers/promises";
import { explainSyntax } from "./explain-syntax.ts";
import { NOT_ASYNC } from "./find-missing-await.ts";
import { asFunction, bodyOf, placeInBody, placeOf } from "./function-body.ts";
import type { Fault } from "../outcome.ts";
import type { Position } from "../source-map.ts";
import { unwrapExports } from "./unwrap-exports.ts";
import { type Reader, type StripError, stripTypes } from "./type-stripper.ts";

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

/** Maximum nesting depth of brackets. Parsers recurse. */
const DEPTH = 200;

/** Characters of a program from which on each step of reading it has a turn of the event loop. */
const LONG_PROGRAM = 8192;

const OPTIONS: Options = { ecmaVersion: "latest", sourceType: "script", allowImportExportEverywhere: true };

/** A call with type arguments, which JavaScript parses as comparisons: `f<string, number>(x)`. */
const TYPE_ARGUMENTS = /[\w$]<[\w$\s,.|&[\]{}:;"'?]+>\(/;

/** Parses a program as JavaScript, or else as TypeScript. */
export async function parseProgram(
  source: string,
  reader: Reader = { tenant: "" },
): Promise<ReadProgram | UnreadProgram> {
  if (isTooDeep(source))
    return { fault: syntaxFault("The program is nested too deeply to be read."), position: undefined };
  const code = unwrapExports(source, OPTIONS);
  const parsed = await parseCode(code, reader);
  return "fault" in parsed ? explainSyntax(code, parsed) : parsed;
}

async function parseCode(code: string, reader: Reader): Promise<ReadProgram | UnreadProgram> {
  // Each of these steps may hold the host's thread for some 30 ms where a program is long.
  const isLong = code.length > LONG_PROGRAM;
  if (isLong) await nextTurn();
  const asJavaScript = tryParse(code);
  if (isLong) await nextTurn();
  if ("body" in asJavaScript && !mayHaveTypes(code, asJavaScript)) return refuseModuleSyntax(asJavaScript);
  const stripped = await withoutTypes(code, reader);
  if ("code" in stripped) {
    const asTypeScript = tryParse(stripped.code, stripped.toCode);
    return "body" in asTypeScript ? refuseModuleSyntax(asTypeScript) : asTypeScript;
  }
  if ("body" in asJavaScript) return refuseModuleSyntax(asJavaScript);
  return stripped.fault.code === "syntax" ? asJavaScript : stripped;
}

/** Whether a program that parses as JavaScript is more likely TypeScript. */
function mayHaveTypes(code: string, { body }: ReadProgram): boolean {
  return code.includes("<") && (TYPE_ARGUMENTS.test(code) || find(body, comparesComparison) !== undefined);
}

/** `f<A<B>>(x)`, `f<(A | B)>(x)`: these parse as a comparison of a comparison's result, which programs do not use. */
function comparesComparison(node: Node): boolean {
  const { type, operator, left } = node as BinaryExpression;
  return (
    type === "BinaryExpression" && COMPARING.has(operator) && left.type === "BinaryExpression" && left.operator === "<"
  );
}

const COMPARING = new Set(["<", ">", ">=", ">>", ">>>"]);

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

function tryParse(code: string, toCode = (position: Position) => position): ReadProgram | UnreadProgram {
  const text = asFunction(code);
  try {
    const [program, more] = parse(text, OPTIONS).body;
    if (more) return { fault: syntaxFault("A closing bracket has no opening bracket."), position: undefined };
    return { text, body: (program as FunctionDeclaration).body.body, toCode };
  } catch (error) {
    const { message, loc } = error as { message: string; loc?: Position };
    return {
      fault: syntaxFault(`${message.replace(/ \(\d+:\d+\)$/, "")}.`),
      position: loc && toCode(placeInBody(code, loc)),
    };
  }
}

function syntaxFault(message: string, code = "syntax"): Fault {
  return { name: "SyntaxError", code, message };
}

// ---- module syntax ---------------------------------------------------------------------------------------------

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

function refuseModuleSyntax(parsed: ReadProgram): ReadProgram | UnreadProgram {
  const found = find(parsed.body, (node) => MODULE_SYNTAX.has(node.type) && !isNewTarget(node));
  if (!found) return parsed;
  return {
    fault: syntaxFault(MODULE_SYNTAX.get(found.type) ?? "", "program_is_module"),
    position: parsed.toCode(placeOf(parsed.text, found.start)),
  };
}

function find(root: unknown, matches: (node: Node) => boolean): Node | undefined {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    if ("type" in value && "start" in value && matches(value as Node)) return value as Node;
    for (const child of Object.values(value)) if (typeof child === "object" && child !== null) open.push(child);
  }
  return undefined;
}

function isNewTarget(node: Node): boolean {
  return node.type === "MetaProperty" && (node as unknown as { meta: { name: string } }).meta.name === "new";
}

// ---- types -----------------------------------------------------------------------------------------------------

/** The code without its types, or the fault. */
async function withoutTypes(
  code: string,
  reader: Reader,
): Promise<(Pick<ReadProgram, "toCode"> & { code: string }) | UnreadProgram> {
  const stripped = await stripTypes(asFunction(code), reader);
  switch (stripped.type) {
    case "code":
      return {
        code: bodyOf(stripped.code.trimEnd()),
        toCode: stripped.map === undefined ? (position) => position : toCodeBy(stripped.map, code),
      };
    case "refused":
      return unstripped(code, stripped.error);
    case "given_up":
      return {
        fault: syntaxFault(
          "Removing the program's types took too long. Use fewer and simpler types, or write plain JavaScript.",
          "typescript_unsupported",
        ),
        position: undefined,
      };
  }
}

/** Positions in code that was written anew, by its source map. Both texts are wrapped in a function. */
function toCodeBy(map: string, code: string): ReadProgram["toCode"] {
  const sourceMap = new SourceMap(JSON.parse(map) as SourceMapPayload);
  return ({ line, column }) => {
    const entry = sourceMap.findEntry(line, column - 1);
    return "originalLine" in entry
      ? placeInBody(code, { line: entry.originalLine + 1, column: entry.originalColumn })
      : { line: 1, column: 1 };
  };
}

function unstripped(code: string, { code: kind, message = "", startLine, startColumn }: StripError): UnreadProgram {
  const position =
    startLine === undefined || startColumn === undefined
      ? undefined
      : placeInBody(code, { line: startLine, column: startColumn });
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

/** A fault for import or export statements in a program with types. The stripper gives no position for them. */
function moduleFault(code: string): UnreadProgram | undefined {
  const line = code
    .split("\n")
    .findIndex((text) =>
      /^\s*import\s+(?:type\s+)?(?:[\w*{][^;]*\sfrom\s*)?["']|^\s*export\s+(?:default|const|let|var|async|function|class|type|interface|[{*])/.test(
        text,
      ),
    );
  if (line < 0) return undefined;
  const isImport = /^\s*import/.test(code.split("\n")[line] ?? "");
  return {
    fault: syntaxFault(isImport ? NO_IMPORTS : NO_EXPORTS, "program_is_module"),
    position: { line: line + 1, column: 1 },
  };
}
