import type { Expression, ExpressionStatement, Statement } from "acorn";

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
 * function, of a `main` that nobody calls, or the value of its last expression.
 */
export function returnLastExpression(code: string, body: readonly Statement[]): Edited {
  const last = body.at(-1);
  if (last?.type === "ExpressionStatement" && last.directive === undefined && isWorthReturning(last.expression)) {
    return isFunction(last.expression) && body.length === 1
      ? surround(code, last, "return await (", ")(tools)")
      : surround(code, last, "return await (", ")");
  }
  const called = uncalledFunction(body);
  return called === undefined
    ? { program: code, insertions: [] }
    : { program: `${code}\nreturn await ${called}(tools);`, insertions: [] };
}

/** The function to call in a program that only declares functions. */
function uncalledFunction(body: readonly Statement[]): string | undefined {
  const names = body.map((statement) => (statement.type === "FunctionDeclaration" ? statement.id.name : undefined));
  if (names.length === 0 || names.includes(undefined)) return undefined;
  return names.length === 1 ? names[0] : names.find((name) => name === "main");
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

function surround(code: string, statement: ExpressionStatement, before: string, after: string): Edited {
  const text = code.slice(statement.start, statement.end);
  const bare = text.replace(/;$/, "");
  const lines = code.slice(0, statement.start).split("\n");
  return {
    // The line break keeps a comment at the end of the expression from swallowing what is put behind it.
    program: `${code.slice(0, statement.start)}${before}${bare}\n${after};${code.slice(statement.end)}`,
    insertions: [{ line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, length: before.length }],
  };
}
