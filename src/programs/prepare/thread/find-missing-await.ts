import type { CallExpression, Expression, MemberExpression, Node } from "acorn";
import type { ReadProgram } from "./read-program.ts";
import { pathOfTool } from "../../../tools/tool-name.ts";
import { ProgramNames } from "./program-names.ts";
import { findNode, nodesIn } from "./syntax-nodes.ts";

export interface MissingAwait {
  readonly code: "await_missing" | "await_not_async";
  readonly message: string;
  /** Offset in the program's text. */
  readonly offset: number;
}

/** Methods of arrays that use what their callback returns at once. */
const NOT_AWAITING = new Set("every,filter,find,findIndex,findLast,findLastIndex,some,sort,toSorted".split(","));
/** Functions for which a promise is an object without fields. */
const READING_FIELDS = new Set(
  "Array.from,Array.isArray,JSON.stringify,Object.entries,Object.fromEntries,Object.keys,Object.values".split(","),
);
/** Properties of promises that a program may use. */
const OF_PROMISES = new Set("then,catch,finally,constructor,hasOwnProperty,valueOf".split(","));
const IDENTITY = new Set(["===", "!==", "==", "!="]);

/**
 * The first place where a program uses the promise of a call directly: as a condition, an operand, a field's value of
 * what it returns and the like. Or the first place where it passes an async callback to an array method that does not
 * await it. Calls are those of `tools` and of async functions of the program. No correct program does either, and most
 * of these faults cannot be seen while the program runs.
 */
export function findMissingAwait({ text, body }: ReadProgram, tools: ReadonlySet<string>): MissingAwait | undefined {
  const names = new ProgramNames(body);
  const found: MissingAwait[] = [];
  const report = (node: Node | null | undefined, use: string) => {
    const call = promiseOf(node, names, tools);
    if (node && call !== undefined)
      found.push({
        code: "await_missing",
        message: `${call} returns a promise, ${use}: did you forget await?`,
        offset: node.start,
      });
  };
  const addsToPromises = text.includes("Promise.prototype");
  for (const node of nodesIn(body)) {
    for (const condition of conditionsOf(node as Fields)) report(condition, "which always counts as true");
    for (const [part, use] of usesOf(node as Fields, names))
      if (!addsToPromises || node.type !== "MemberExpression") report(part, use);
    const callback = callbackOf(node, names, tools);
    if (callback) found.push(callback);
    if (isNamedAwait(node)) found.push({ code: "await_not_async", message: NOT_ASYNC, offset: node.start });
  }
  for (const statement of body)
    if (statement.type === "ReturnStatement")
      inLiterals(statement.argument, (part) => report(part, "which is not JSON"));
  return found.toSorted((a, b) => a.offset - b.offset)[0];
}

/** The fields of nodes that the functions below read, each by the types of node that have it. */
interface Fields extends Node {
  readonly test?: Node | null;
  readonly left: Node;
  readonly right: Node;
  readonly operator?: string;
  readonly argument: Node;
  readonly discriminant: Node;
  readonly expressions: readonly Node[];
  readonly properties: readonly Fields[];
  readonly id: Node;
  readonly init?: Node | null;
  readonly name?: string;
}

/** Expressions that a node uses only as conditions. */
function conditionsOf(node: Fields): Node[] {
  if (node.type === "LogicalExpression") return [node.left];
  let last: Node | null | undefined =
    node.type === "UnaryExpression" && node.operator === "!" ? node.argument : node.test;
  while (last?.type === "LogicalExpression") last = (last as Fields).right;
  return last ? [last] : [];
}

/** Expressions that a node uses in a way that makes no sense for a promise, with the reason. */
function usesOf(node: Fields, names: ProgramNames): (readonly [Node | null | undefined, string])[] {
  switch (node.type) {
    case "BinaryExpression": {
      if (node.operator === "instanceof") return [];
      const use = IDENTITY.has(node.operator ?? "") ? "which equals no other value" : "which cannot be an operand";
      return [
        [node.left, use],
        [node.right, use],
      ];
    }
    case "SwitchStatement":
      return [[node.discriminant, "which equals no other value"]];
    case "TemplateLiteral":
      return node.expressions.map((expression) => [expression, "which has no text"] as const);
    case "SpreadElement":
      return [[node.argument, "which cannot be spread"]];
    case "ObjectExpression":
      return node.properties
        .filter(({ type, argument }) => type === "SpreadElement" && argument.type === "Identifier")
        .map(({ argument }) => [names.promiseIn((argument as Fields).name), "which has no fields to spread"] as const);
    case "ForOfStatement":
    case "ForInStatement":
      return [[node.right, "which cannot be iterated"]];
    case "VariableDeclarator":
      return node.id.type === "Identifier" ? [] : [[node.init, "which has none of these fields"]];
    case "MemberExpression": {
      const { object, property, computed } = node as unknown as MemberExpression;
      const { name = "" } = property as { name?: string };
      return computed || OF_PROMISES.has(name) ? [] : [[object, `which has no property "${name}"`]];
    }
    case "CallExpression": {
      const { callee, arguments: inputs } = node as unknown as CallExpression;
      if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return [];
      const name = `${callee.object.name}.${(callee.property as { name?: string }).name ?? ""}`;
      return READING_FIELDS.has(name) ? [[inputs[0], `which has nothing for ${name}`]] : [];
    }
    default:
      return [];
  }
}

/** An async callback of an array method that does not await it. */
function callbackOf(node: Node, names: ProgramNames, tools: ReadonlySet<string>): MissingAwait | undefined {
  if (node.type !== "CallExpression") return undefined;
  const {
    callee,
    arguments: [first],
  } = node as CallExpression;
  if (callee.type !== "MemberExpression" || callee.computed || first === undefined) return undefined;
  const { name: method = "" } = callee.property as { name?: string };
  if (names.methods.has(method)) return undefined;
  if (method === "forEach") return forEachCallback(first, names);
  if (!NOT_AWAITING.has(method)) return undefined;
  if (!names.isAsync(first) && promiseOf(arrowValue(first), names, tools) === undefined) return undefined;
  return {
    code: "await_missing",
    message: `${method} does not await its callback, and a promise always counts as true: make the calls first, with await Promise.all(rows.map(…)), then use ${method} on the results.`,
    offset: first.start,
  };
}

/** An async callback of `forEach` that awaits: `forEach` ends before the callback. A callback that awaits nothing has ended by then. */
function forEachCallback(callback: Node, names: ProgramNames): MissingAwait | undefined {
  if (!names.isAsync(callback)) return undefined;
  const body = names.functionOf(callback);
  const awaits = findNode(
    body,
    ({ type, ...fields }) =>
      type === "AwaitExpression" || (type === "ForOfStatement" && (fields as { await?: boolean }).await === true),
  );
  if (awaits === undefined) return undefined;
  return {
    code: "await_missing",
    message:
      "forEach does not await its callback, so the program goes on before it has ended: use for (const row of rows) { await … }, or await Promise.all(rows.map(async (row) => …)).",
    offset: callback.start,
  };
}

/** Whether a node uses `await` as a name, which it is in a function that is not async: `await (x)`, `await [x]`. */
function isNamedAwait(node: Node): boolean {
  const named =
    node.type === "CallExpression"
      ? (node as CallExpression).callee
      : node.type === "MemberExpression"
        ? (node as MemberExpression).object
        : undefined;
  return named?.type === "Identifier" && named.name === "await";
}

/** For an `await` that the parser takes for a name. */
export const NOT_ASYNC =
  "`await` stands in a function that is not async. Write `async` before that function, as in `async (row) => …`.";

/** Visits the elements and the fields' values of a literal of lists and records, at any depth. A value that is no such literal has none. */
function inLiterals(root: Expression | null | undefined, visit: (node: Node) => void): void {
  const open: (Node | null | undefined)[] = [root];
  while (open.length > 0) {
    const node = open.pop();
    const parts: (Node | null)[] =
      node?.type === "ArrayExpression"
        ? (node as unknown as { elements: (Node | null)[] }).elements
        : node?.type === "ObjectExpression"
          ? (node as unknown as { properties: (Node & { value?: Node })[] }).properties.map(
              ({ value }) => value ?? null,
            )
          : [];
    for (const part of parts) {
      if (part) visit(part);
      open.push(part);
    }
  }
}

/** The value of an arrow function without a block. */
function arrowValue(node: Node): Node | undefined {
  return node.type === "ArrowFunctionExpression" && (node as unknown as { expression: boolean }).expression
    ? (node as unknown as { body: Node }).body
    : undefined;
}

/** How a call is written whose value is a promise; undefined for any other expression. */
function promiseOf(node: Node | null | undefined, names: ProgramNames, tools: ReadonlySet<string>): string | undefined {
  if (node?.type !== "CallExpression") return undefined;
  const { callee } = node as CallExpression;
  if (callee.type === "Identifier" && names.isAsync(callee)) return `${callee.name}(…)`;
  const tool = names.toolPath(callee);
  return tool !== undefined && tools.has(tool) ? `${pathOfTool(tool)}(…)` : undefined;
}
