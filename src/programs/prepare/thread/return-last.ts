import type { Expression, ExpressionStatement, Statement, VariableDeclarator } from "acorn";
import type { Insertion } from "../../guest/source-map.ts";
import { bodyOf, placeOf } from "./function-body.ts";
import type { ParsedProgram } from "./parsed-program.ts";

interface Edited {
  readonly program: string;
  readonly insertions: readonly Insertion[];
}

/**
 * Adds what is missing at a program's end. That is the `return` of its last expression's value, or the call of a
 * function: of a function that is all it returns, of its only function, or of a `main` that it does not call.
 */
export function returnLastExpression({ text, body: statements }: ParsedProgram): Edited {
  const body = statements.filter((statement) => statement.type !== "EmptyStatement" && !isBareVariable(statement));
  const last = body.at(-1);
  const ending = body.findLast(({ type }) => type !== "FunctionDeclaration");
  if (ending?.type === "ReturnStatement" && ending.argument && isOwnFunction(ending.argument, body))
    return surround(text, ending.argument, "await (", ")(tools)");
  if (last?.type === "ExpressionStatement" && last.directive !== "use strict" && isWorthReturning(last.expression)) {
    return surround(text, last, "return await (", isFunction(last.expression) && body.length === 1 ? ")(tools)" : ")");
  }
  const called = uncalledFunction(text, body);
  return {
    program: `${bodyOf(text)}${called === undefined ? "" : `\nreturn await ${called}(tools);`}`,
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

/** Whether an expression is a function, or the name of a function that these statements declare. No program returns a function. */
function isOwnFunction(expression: Expression, body: readonly Statement[]): boolean {
  if (expression.type !== "Identifier") return isFunction(expression);
  return body.filter((statement) => functionName(statement) === expression.name).length === 1;
}

/** The function to call in a program of declarations only: its only function, or a `main` that is not referenced. */
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
