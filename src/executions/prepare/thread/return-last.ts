import type { Expression, ExpressionStatement, FunctionDeclaration, Statement, VariableDeclarator } from "acorn";
import type { Insertion } from "../../guest/source-map.ts";
import { bodyOf, placeOf } from "./function-body.ts";
import type { ParsedProgram } from "./parsed-program.ts";
import { nameOf } from "./syntax-nodes.ts";

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

/** A function that takes `{ tools }` apart gets them so. */
function argumentsOf(called: AnyFunction): string {
  const [first] = "params" in called ? called.params : [];
  const pattern = first?.type === "AssignmentPattern" ? first.left : first;
  const takesApart =
    pattern?.type === "ObjectPattern" &&
    pattern.properties.some((one) => one.type === "Property" && nameOf(one.key) === "tools");
  return takesApart ? "({ tools })" : "(tools)";
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

/** The function that a statement declares; undefined if it declares anything else. */
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
