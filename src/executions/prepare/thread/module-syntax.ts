import type { AnyNode } from "acorn";
import { linesOf } from "../../guest/source-lines.ts";
import { placeOf } from "./function-body.ts";
import { type ParsedProgram, syntaxFault, type UnparsedProgram } from "./parsed-program.ts";
import { findNode } from "./syntax-nodes.ts";

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

/** The program, or the fault of the first import or export in it. */
export function refuseModuleSyntax(parsed: ParsedProgram): ParsedProgram | UnparsedProgram {
  const found = findNode(parsed.body, (node) => MODULE_SYNTAX.has(node.type) && !isNewTarget(node));
  if (!found) return parsed;
  return {
    fault: syntaxFault(MODULE_SYNTAX.get(found.type) ?? "", "program_is_module"),
    position: parsed.toCode(placeOf(parsed.text, found.start)),
  };
}

function isNewTarget(node: AnyNode): boolean {
  return node.type === "MetaProperty" && node.meta.name === "new";
}

/** A fault for import or export statements in a program with types. The stripper gives no position for them. */
export function moduleFault(code: string): UnparsedProgram | undefined {
  const lines = linesOf(code);
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
