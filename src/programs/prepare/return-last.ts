import type { Expression, ExpressionStatement, Statement, VariableDeclarator } from "acorn";
import { bodyOf, placeOf } from "./function-body.ts";
import type { ReadProgram } from "./parse-program.ts";

/** Text inserted into a line: everything from `column` on moved right by `length`. Line and column count from 1. */
export interface Insertion {
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

interface Edited {
  readonly program: string;
  readonly insertions: readonly Insertion[];
}

/**
 * Adds the missing `return` to a program: of the result of a lone function, of a `main` that is not called, or of the
 * value of its last expression.
 */
export function returnLastExpression({ text, body: statements }: ReadProgram): Edited {
  const body = statements.filter(({ type }) => type !== "EmptyStatement");
  const last = body.at(-1);
  if (last?.type === "ExpressionStatement" && last.directive !== "use strict" && isWorthReturning(last.expression)) {
    return surround(text, last, "return await (", isFunction(last.expression) && body.length === 1 ? ")(tools)" : ")");
  }
  const called = uncalledFunction(text, body);
  return {
    program: `${bodyOf(text)}${called === undefined ? "" : `\nreturn await ${called}(tools);`}`,
    insertions: [],
  };
}

/** The function to call in a program of declarations only: the single one, or a `main` that is not referenced. */
function uncalledFunction(text: string, body: readonly Statement[]): string | undefined {
  if (!body.every(({ type }) => DECLARING.has(type))) return undefined;
  const names = body.map(functionName);
  if (names.length === 1) return names[0];
  return names.includes("main") && (names.every((name) => name !== undefined) || isMentionedOnce(text, "main"))
    ? "main"
    : undefined;
}

const DECLARING = new Set(["FunctionDeclaration", "VariableDeclaration", "ClassDeclaration"]);

/** Name of the function that a statement declares; undefined if it declares anything else. */
function functionName(statement: Statement): string | undefined {
  if (statement.type === "FunctionDeclaration") return statement.id.name;
  if (statement.type !== "VariableDeclaration" || statement.declarations.length !== 1) return undefined;
  const [{ id, init }] = statement.declarations as [VariableDeclarator];
  return id.type === "Identifier" && init && isFunction(init) ? id.name : undefined;
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

function surround(text: string, statement: ExpressionStatement, before: string, after: string): Edited {
  const bare = text.slice(statement.start, statement.end).replace(/;$/, "");
  return {
    // Without the line break a comment at the end of the expression would hide the inserted text.
    program: bodyOf(`${text.slice(0, statement.start)}${before}${bare}\n${after};${text.slice(statement.end)}`),
    insertions: [{ ...placeOf(text, statement.start), length: before.length }],
  };
}
