import type { CallExpression, Expression, Function as FunctionNode, MemberExpression, Node, Pattern } from "acorn";
import type { ReadProgram } from "./parse-program.ts";

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
 * The first place where a program uses the promise of a call directly as a condition, an operand, a field's value of what
 * it returns and the like, or passes an async callback to an array method that does not await it. A call is one of these
 * tools, or of an async function of the program. No right program does that, and most of it cannot be seen while the
 * program runs. A name counts only if the program declares it once and never assigns it again.
 */
export function findMissingAwait({ text, body }: ReadProgram, tools: ReadonlySet<string>): MissingAwait | undefined {
  const names = readNames(body);
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
  walk(body, (node) => {
    for (const condition of conditionsOf(node as Fields)) report(condition, "which always counts as true");
    for (const [part, use] of usesOf(node as Fields, names))
      if (!addsToPromises || node.type !== "MemberExpression") report(part, use);
    const callback = callbackOf(node, names, tools);
    if (callback) found.push(callback);
    if (isNamedAwait(node)) found.push({ code: "await_not_async", message: NOT_ASYNC, offset: node.start });
  });
  for (const statement of body)
    if (statement.type === "ReturnStatement")
      inLiterals(statement.argument, (part) => report(part, "which is no JSON"));
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

/** Expressions of which a node asks only whether they count as true. */
function conditionsOf(node: Fields): Node[] {
  if (node.type === "LogicalExpression") return [node.left];
  let last: Node | null | undefined =
    node.type === "UnaryExpression" && node.operator === "!" ? node.argument : node.test;
  while (last?.type === "LogicalExpression") last = (last as Fields).right;
  return last ? [last] : [];
}

/** Expressions that a node uses in a way in which no promise is used, with what is wrong about it. */
function usesOf(node: Fields, names: Names): (readonly [Node | null | undefined, string])[] {
  switch (node.type) {
    case "BinaryExpression": {
      if (node.operator === "instanceof") return [];
      const use = IDENTITY.has(node.operator ?? "") ? "which equals no other value" : "which is no operand";
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
function callbackOf(node: Node, names: Names, tools: ReadonlySet<string>): MissingAwait | undefined {
  if (node.type !== "CallExpression") return undefined;
  const {
    callee,
    arguments: [first],
  } = node as CallExpression;
  if (callee.type !== "MemberExpression" || callee.computed || first === undefined) return undefined;
  const { name: method = "" } = callee.property as { name?: string };
  if (!NOT_AWAITING.has(method) || names.methods.has(method)) return undefined;
  if (!names.isAsync(first) && promiseOf(arrowValue(first), names, tools) === undefined) return undefined;
  return {
    code: "await_missing",
    message: `${method} does not await its callback, and a promise always counts as true: make the calls first, with await Promise.all(rows.map(…)), then use ${method} on the results.`,
    offset: first.start,
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

/** Walks in no certain order. */
function walk(root: unknown, visit: (node: Node) => void): void {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    if ("type" in value && "start" in value) visit(value as Node);
    for (const child of Object.values(value)) if (typeof child === "object" && child !== null) open.push(child);
  }
}

/** The fields' values of a literal of lists and records. A value that is no literal itself has none. */
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
function promiseOf(node: Node | null | undefined, names: Names, tools: ReadonlySet<string>): string | undefined {
  if (node?.type !== "CallExpression") return undefined;
  const { callee } = node as CallExpression;
  if (callee.type === "Identifier" && names.isAsync(callee)) return `${callee.name}(…)`;
  const tool = names.toolPath(callee);
  return tool !== undefined && tools.has(tool) ? `tools.${tool}(…)` : undefined;
}

// ---- names -----------------------------------------------------------------------------------------------------

interface Names {
  /** Names of methods and fields that the program gives to objects of its own. */
  readonly methods: ReadonlySet<string>;
  /** Whether an expression is an async function, or the name of one. */
  readonly isAsync: (node: Node) => boolean;
  /** The name of a tool that an expression stands for, if it is a tool. */
  readonly toolPath: (node: Node) => string | undefined;
  /** The call whose promise a constant holds. */
  readonly promiseIn: (name: string | undefined) => Node | undefined;
}

function readNames(body: ReadProgram["body"]): Names {
  const declared = new Map<string, number>();
  const methods = new Set<string>();
  const functions = new Map<string, Node>();
  const constants = new Map<string, Node>();
  /** What a name is taken from by destructuring: `const { find } = tools.crm`. */
  const parts = new Map<string, { readonly from: Node; readonly key: string }>();
  let hidesTools = false;
  const declare = (pattern: Pattern | null | undefined, isParameter = false) => {
    for (const name of namesIn(pattern)) {
      declared.set(name, (declared.get(name) ?? 0) + 1);
      if (name === "tools" && !isParameter) hidesTools = true;
    }
  };
  walk(body, (node) => {
    switch (node.type) {
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression": {
        const { id, params } = node as unknown as { id: Pattern | null; params: Pattern[] };
        if (node.type !== "ArrowFunctionExpression") declare(id);
        for (const param of params) declare(param, true);
        if (node.type === "FunctionDeclaration" && id?.type === "Identifier") functions.set(id.name, node);
        return;
      }
      case "ClassDeclaration":
        return declare((node as unknown as { id: Pattern }).id);
      case "CatchClause":
        return declare((node as unknown as { param: Pattern | null }).param);
      case "AssignmentExpression":
        return declare((node as unknown as { left: Pattern }).left);
      case "ForInStatement":
      case "ForOfStatement": {
        const { left } = node as unknown as { left: Node };
        if (left.type !== "VariableDeclaration") declare(left as Pattern);
        return;
      }
      case "Property":
      case "MethodDefinition":
      case "PropertyDefinition": {
        const { key, value } = node as unknown as { key: { name?: string }; value: Node | null };
        if (value && isFunction(value)) methods.add(key.name ?? "");
        return;
      }
      case "VariableDeclarator": {
        const { id, init } = node as unknown as { id: Pattern; init: Node | null };
        declare(id);
        if (!init) return;
        if (id.type === "Identifier") constants.set(id.name, init);
        if (id.type === "ObjectPattern")
          for (const part of id.properties)
            if (part.type === "Property" && part.value.type === "Identifier" && part.key.type === "Identifier")
              parts.set(part.value.name, { from: init, key: part.key.name });
      }
    }
  });
  const isUnique = (name: string) => declared.get(name) === 1;

  const isAsync = (node: Node): boolean => {
    if (node.type !== "Identifier") return isAsyncFunction(node);
    const { name } = node as unknown as { name: string };
    const value = functions.get(name) ?? constants.get(name);
    return value !== undefined && isUnique(name) && isAsyncFunction(value);
  };

  const toolPath = (expression: Node): string | undefined => {
    const path: string[] = [];
    let node = expression;
    // Each step leads to an earlier declaration, unless names are declared by each other.
    for (let steps = 0; steps < 32; steps += 1) {
      if (node.type === "MemberExpression") {
        const { object, property, computed } = node as MemberExpression;
        const key = computed ? (property as { value?: unknown }).value : (property as { name?: string }).name;
        if (typeof key !== "string") return undefined;
        path.unshift(key);
        node = object;
        continue;
      }
      if (node.type !== "Identifier") return undefined;
      const { name } = node as unknown as { name: string };
      if (name === "tools") return hidesTools ? undefined : path.join(".");
      const part = parts.get(name);
      const value = part?.from ?? constants.get(name);
      if (value === undefined || !isUnique(name)) return undefined;
      if (part) path.unshift(part.key);
      node = value;
    }
    return undefined;
  };

  const promiseIn = (name = "") => (isUnique(name) ? constants.get(name) : undefined);
  return { methods, isAsync, toolPath, promiseIn };
}

function isFunction(node: Node): boolean {
  return node.type === "ArrowFunctionExpression" || node.type === "FunctionExpression";
}

function isAsyncFunction(node: Node): boolean {
  const { async: isAsync, generator } = node as FunctionNode;
  return (isFunction(node) || node.type === "FunctionDeclaration") && isAsync && !generator;
}

/** Names that a pattern binds or assigns. */
function namesIn(root: Pattern | null | undefined): string[] {
  const names: string[] = [];
  const open: (Node | null | undefined)[] = [root];
  while (open.length > 0) {
    const node = open.pop();
    switch (node?.type) {
      case "Identifier":
        names.push((node as unknown as { name: string }).name);
        break;
      case "ObjectPattern":
        for (const part of (node as unknown as { properties: (Node & { value?: Node })[] }).properties)
          open.push(part.type === "RestElement" ? part : part.value);
        break;
      case "ArrayPattern":
        open.push(...(node as unknown as { elements: (Node | null)[] }).elements);
        break;
      case "RestElement":
        open.push((node as unknown as { argument: Node }).argument);
        break;
      case "AssignmentPattern":
        open.push((node as unknown as { left: Node }).left);
        break;
      case undefined:
    }
  }
  return names;
}
