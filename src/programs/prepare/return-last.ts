import type { Expression, ExpressionStatement, Statement, VariableDeclarator } from "acorn";
import { bodyOf, placeOf } from "./function-body.ts";
import type { ReadProgram } from "./parse-program.ts";

/** Text that was put into a line: what stood at `column` and after it stands `length` further right. Counted from 1. */
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
 * Makes a program return what its author means it to, where it does not say so itself: the result of a lone
 * function, of a `main` that the program does not call, or the value of its last expression.
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

/** The function to call in a program that only declares: the one there is, or the `main` that nothing refers to. */
function uncalledFunction(text: string, body: readonly Statement[]): string | undefined {
  if (!body.every(({ type }) => DECLARING.has(type))) return undefined;
  const names = body.map(functionName);
  if (names.length === 1) return names[0];
  return names.includes("main") && (names.every((name) => name !== undefined) || isMentionedOnce(text, "main"))
    ? "main"
    : undefined;
}

const DECLARING = new Set(["FunctionDeclaration", "VariableDeclaration", "ClassDeclaration"]);

/** Name of the function that a statement declares, if it declares one and nothing else. */
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

/** Assignments stand last for what they do, not for their value. */
function isWorthReturning(expression: Expression): boolean {
  return expression.type !== "AssignmentExpression" && expression.type !== "UpdateExpression";
}

function surround(text: string, statement: ExpressionStatement, before: string, after: string): Edited {
  const bare = text.slice(statement.start, statement.end).replace(/;$/, "");
  return {
    // The line break keeps a comment at the end of the expression from swallowing what is put behind it.
    program: bodyOf(`${text.slice(0, statement.start)}${before}${bare}\n${after};${text.slice(statement.end)}`),
    insertions: [{ ...placeOf(text, statement.start), length: before.length }],
  };
}
