import type { AnyNode } from "acorn";
import { isLongInteger } from "../../../base/index.ts";
import type { ParsedProgram } from "./parsed-program.ts";
import { pathOfTool } from "../../../tools/tool-name.ts";
import { programNames, type ProgramNames } from "./program-names.ts";
import { findNode, nameOf, nodesIn } from "./syntax-nodes.ts";

export type ResultKinds = ReadonlyMap<string, Call["gives"]>;

export interface MisusedCall {
  readonly code: "await_missing" | "await_not_async" | "stream_misused" | "number_rounded";
  readonly message: string;
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
 * The first place where a program uses the promise or the stream of a call directly: as a condition, an operand, a field's
 * value of what it returns and the like. Or the first place where it passes an async callback to an array method that does
 * not await it. Calls are those of `tools` and of async functions of the program. Or the first whole number with other digits
 * than JavaScript keeps. No correct program does any of this, and most of these faults cannot be seen while the program runs.
 */
export function findMisusedCall({ text, body }: ParsedProgram, tools: ResultKinds): MisusedCall | undefined {
  const names = programNames(body);
  const found: MisusedCall[] = [];
  const report = (node: AnyNode | null | undefined, use: string, readsStreams = false) => {
    const call = callIn(node, names, tools);
    if (node && call && !(readsStreams && call.gives === "stream"))
      found.push({ ...misuse(call, use), offset: node.start });
  };
  const addsToPromises = text.includes("Promise.prototype");
  for (const node of nodesIn(body)) {
    for (const condition of conditionsOf(node)) report(condition, "which always counts as true");
    for (const [part, use] of usesOf(node, names))
      if (!addsToPromises || node.type !== "MemberExpression")
        report(part, use, node.type === "ForOfStatement" && node.await);
    const callback = callbackOf(node, names, tools);
    if (callback) found.push(callback);
    const rounded = roundedNumber(node);
    if (rounded) found.push(rounded);
    if (isNamedAwait(node)) found.push({ code: "await_not_async", message: NOT_ASYNC, offset: node.start });
  }
  for (const statement of body)
    if (statement.type === "ReturnStatement")
      inLiterals(statement.argument, (part) => report(part, "which is not JSON"));
  return found.toSorted((a, b) => a.offset - b.offset)[0];
}

function conditionsOf(node: AnyNode): AnyNode[] {
  if (node.type === "LogicalExpression") return [node.left];
  const isNot = node.type === "UnaryExpression" && node.operator === "!";
  let last = isNot ? node.argument : "test" in node ? node.test : undefined;
  while (last?.type === "LogicalExpression") last = last.right;
  return last ? [last] : [];
}

/** Expressions that a node uses in a way that makes no sense for a promise, with the reason. */
function usesOf(node: AnyNode, names: ProgramNames): (readonly [AnyNode | null | undefined, string])[] {
  switch (node.type) {
    case "BinaryExpression": {
      if (node.operator === "instanceof") return [];
      const use = IDENTITY.has(node.operator) ? "which equals no other value" : "which cannot be an operand";
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
      return node.properties.flatMap((part) =>
        part.type === "SpreadElement" && part.argument.type === "Identifier"
          ? [[names.meantBy(part.argument), "which has no fields to spread"] as const]
          : [],
      );
    case "ForOfStatement":
    case "ForInStatement":
      return [[node.right, "which cannot be iterated"]];
    case "VariableDeclarator":
      return node.id.type === "Identifier" ? [] : [[node.init, "which has none of these fields"]];
    case "MemberExpression": {
      const { object, property, computed } = node;
      const name = nameOf(property);
      return computed || OF_PROMISES.has(name) ? [] : [[object, `which has no property "${name}"`]];
    }
    case "CallExpression": {
      const { callee, arguments: inputs } = node;
      if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return [];
      const name = `${callee.object.name}.${nameOf(callee.property)}`;
      return READING_FIELDS.has(name) ? [[inputs[0], `which has nothing for ${name}`]] : [];
    }
    default:
      return [];
  }
}

function callbackOf(node: AnyNode, names: ProgramNames, tools: ResultKinds): MisusedCall | undefined {
  if (node.type !== "CallExpression") return undefined;
  const {
    callee,
    arguments: [first],
  } = node;
  if (callee.type !== "MemberExpression" || callee.computed || first === undefined) return undefined;
  const method = nameOf(callee.property);
  if (names.methods.has(method)) return undefined;
  if (method === "forEach") return forEachCallback(first, names);
  if (!NOT_AWAITING.has(method)) return undefined;
  if (!names.isAsync(first) && callIn(arrowValue(first), names, tools)?.gives !== "promise") return undefined;
  return {
    code: "await_missing",
    message: `${method} does not await its callback, and a promise always counts as true: make the calls first, with await Promise.all(rows.map(…)), then use ${method} on the results.`,
    offset: first.start,
  };
}

/** An async callback of `forEach` that awaits: `forEach` ends before the callback. A callback that awaits nothing has ended by then. */
function forEachCallback(callback: AnyNode, names: ProgramNames): MisusedCall | undefined {
  if (!names.isAsync(callback)) return undefined;
  const body = names.meantBy(callback);
  const awaits = findNode(
    body,
    (node) => node.type === "AwaitExpression" || (node.type === "ForOfStatement" && node.await),
  );
  if (awaits === undefined) return undefined;
  return {
    code: "await_missing",
    message:
      "forEach does not await its callback, so the program continues before it has ended: use for (const row of rows) { await … }, or await Promise.all(rows.map(async (row) => …)).",
    offset: callback.start,
  };
}

/** A whole number that is written out with other digits than it is written with, such as an id. Nines alone stand for more than anything. */
function roundedNumber(node: AnyNode): MisusedCall | undefined {
  const sign = node.type === "UnaryExpression" && node.operator === "-" ? "-" : "";
  const number = node.type === "UnaryExpression" ? node.argument : node;
  if (number.type !== "Literal" || typeof number.value !== "number") return undefined;
  const digits = `${sign}${number.raw?.replaceAll("_", "")}`;
  const kept = `${sign}${number.value}`;
  if (kept === digits || !isLongInteger(digits) || digits.replaceAll("9", "").length === sign.length) return undefined;
  return {
    code: "number_rounded",
    message: `JavaScript keeps ${digits} as ${kept}: write "${digits}", as results have it. A tool that takes numbers takes that too.`,
    offset: node.start,
  };
}

/** Whether a node uses `await` as a name, which it is in a function that is not async: `await (x)`, `await [x]`. */
function isNamedAwait(node: AnyNode): boolean {
  const called = node.type === "CallExpression" ? node.callee : undefined;
  const named = node.type === "MemberExpression" ? node.object : called;
  return named?.type === "Identifier" && named.name === "await";
}

/** For an `await` that the parser takes for a name. */
export const NOT_ASYNC =
  "`await` is in a function that is not async. Write `async` before that function, as in `async (row) => …`.";

/** Visits the elements and the fields' values of a literal of lists and records, at any depth. A value that is no such literal has none. */
function inLiterals(node: AnyNode | null | undefined, visit: (node: AnyNode) => void): void {
  const values = node?.type === "ObjectExpression" ? node.properties.map((part) => "value" in part && part.value) : [];
  for (const part of node?.type === "ArrayExpression" ? node.elements : values) {
    if (!part) continue;
    visit(part);
    inLiterals(part, visit);
  }
}

function arrowValue(node: AnyNode): AnyNode | undefined {
  return node.type === "ArrowFunctionExpression" && node.expression ? node.body : undefined;
}

/** A call of a tool, or of an async function of the program. */
interface Call {
  readonly path: string;
  readonly gives: "promise" | "stream";
}

/** The call that an expression is; undefined for any other expression. To await a stream gives the stream. */
function callIn(node: AnyNode | null | undefined, names: ProgramNames, tools: ResultKinds): Call | undefined {
  if (node?.type === "AwaitExpression") {
    const awaited = callIn(node.argument, names, tools);
    return awaited?.gives === "stream" ? awaited : undefined;
  }
  if (node?.type !== "CallExpression") return undefined;
  const { callee } = node;
  if (callee.type === "Identifier" && names.isAsync(callee)) return { path: `${callee.name}(…)`, gives: "promise" };
  const tool = names.toolPath(callee);
  const gives = tool === undefined ? undefined : tools.get(tool);
  return tool !== undefined && gives ? { path: `${pathOfTool(tool)}(…)`, gives } : undefined;
}

function misuse({ path, gives }: Call, use: string): Omit<MisusedCall, "offset"> {
  return gives === "promise"
    ? { code: "await_missing", message: `${path} returns a promise, ${use}: did you forget await?` }
    : {
        code: "stream_misused",
        message: `${path} gives a stream of items, ${use}: read it with \`for await (const item of …)\`, or collect a small one with \`await Array.fromAsync(…)\`.`,
      };
}
