import { type Node, type Options, parse, type Statement } from "acorn";
import { createRequire } from "node:module";
import type { Fault } from "./outcome.ts";
import type { Position } from "./source-map.ts";

export interface ReadProgram {
  /** The program as JavaScript: as it was, or with its types replaced by spaces. */
  readonly code: string;
  readonly body: readonly Statement[];
}

export interface UnreadProgram {
  readonly fault: Fault;
  readonly position: Position | undefined;
}

const OPTIONS: Options = {
  ecmaVersion: "latest",
  sourceType: "script",
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
  allowImportExportEverywhere: true,
  allowHashBang: false,
};

/** A call with type arguments reads as comparisons in JavaScript: `f<string>(x)`. */
const TYPE_ARGUMENTS = /[\w$]\s*<[\w$\s,.|&[\]{}:;"']+>\s*\(/;

/** Reads a program as JavaScript, and where it is none, as TypeScript whose types can be erased. */
export function parseProgram(code: string): ReadProgram | UnreadProgram {
  const asJavaScript = tryParse(code);
  if ("body" in asJavaScript && !TYPE_ARGUMENTS.test(code)) return refuseModuleSyntax(asJavaScript);
  const stripped = stripTypes(code);
  if (typeof stripped === "string") {
    const asTypeScript = tryParse(stripped);
    return "body" in asTypeScript ? refuseModuleSyntax(asTypeScript) : asTypeScript;
  }
  if ("body" in asJavaScript) return refuseModuleSyntax(asJavaScript);
  return stripped.fault.code === "syntax" ? asJavaScript : stripped;
}

function tryParse(code: string): ReadProgram | UnreadProgram {
  try {
    return { code, body: parse(code, OPTIONS).body as Statement[] };
  } catch (error) {
    if (error instanceof RangeError)
      return {
        fault: { name: "SyntaxError", code: "syntax", message: "The program is nested too deeply to be read." },
        position: undefined,
      };
    const { message, loc } = error as { message: string; loc?: { line: number; column: number } };
    return {
      fault: { name: "SyntaxError", code: "syntax", message: `${message.replace(/ \(\d+:\d+\)$/, "")}.` },
      position: loc && { line: loc.line, column: loc.column + 1 },
    };
  }
}

// ---- what programs cannot do -----------------------------------------------------------------------------------

const MODULE_SYNTAX: Readonly<Record<string, string>> = {
  ImportDeclaration:
    "A program cannot import anything. Tools are already there, as `tools`; what else is needed has to be written into the program.",
  ImportExpression:
    "A program cannot import anything. Tools are already there, as `tools`; what else is needed has to be written into the program.",
  MetaProperty: "A program is no module and has no import.meta.",
  ExportNamedDeclaration: "A program exports nothing. Return the value instead, with `return`.",
  ExportDefaultDeclaration: "A program exports nothing. Return the value instead, with `return`.",
  ExportAllDeclaration: "A program exports nothing. Return the value instead, with `return`.",
};

function refuseModuleSyntax(parsed: ReadProgram): ReadProgram | UnreadProgram {
  const found = find(parsed.body, (node) => node.type in MODULE_SYNTAX && !isNewTarget(node));
  if (!found) return parsed;
  const before = parsed.code.slice(0, found.start).split("\n");
  return {
    fault: { name: "SyntaxError", code: "program_is_module", message: MODULE_SYNTAX[found.type] ?? "" },
    position: { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 },
  };
}

function isNewTarget(node: Node): boolean {
  return node.type === "MetaProperty" && (node as unknown as { meta: { name: string } }).meta.name === "new";
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

// ---- types -----------------------------------------------------------------------------------------------------

type Amaro = typeof import("amaro");
let amaro: Amaro | undefined;

/** Opens an async function on the program's first line, for the stripper knows neither `await` nor `return` outside of one. */
const OPENING = "async function program(){";

/** The code with its types replaced by spaces, or why that cannot be. */
function stripTypes(code: string): string | UnreadProgram {
  amaro ??= createRequire(import.meta.url)("amaro") as Amaro;
  const moduleLine = code
    .split("\n")
    .findIndex((line) =>
      /^\s*import\s+(?:type\s+)?(?:[\w*{][^;]*\sfrom\s*)?["']|^\s*export\s+(?:default|const|let|var|async|function|class|type|interface|[{*])/.test(
        line,
      ),
    );
  if (moduleLine >= 0) {
    const message =
      MODULE_SYNTAX[
        /^\s*import/.test(code.split("\n")[moduleLine] ?? "") ? "ImportDeclaration" : "ExportNamedDeclaration"
      ] ?? "";
    return {
      fault: { name: "SyntaxError", code: "program_is_module", message },
      position: { line: moduleLine + 1, column: 1 },
    };
  }
  try {
    return amaro.transformSync(`${OPENING}${code}\n}`, { mode: "strip-only" }).code.slice(OPENING.length, -2);
  } catch (error) {
    const {
      code: kind,
      message,
      startLine,
      startColumn,
    } = error as { code?: string; message?: string; startLine?: number; startColumn?: number };
    const unsupported = kind === "UnsupportedSyntax";
    return {
      fault: {
        name: "SyntaxError",
        code: unsupported ? "typescript_unsupported" : "syntax",
        message: `${String(message).replace(/ in (strip-only|type strip) mode/, "")}${unsupported ? ". Only types that can be erased are understood: write it as plain JavaScript." : "."}`,
      },
      position:
        startLine === undefined || startColumn === undefined
          ? undefined
          : { line: startLine, column: startColumn + 1 - (startLine === 1 ? OPENING.length : 0) },
    };
  }
}
