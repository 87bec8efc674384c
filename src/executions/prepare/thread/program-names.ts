import type { AnyNode, Pattern, Property } from "acorn";
import { CALLING_FUNCTIONS } from "../../../tools/tool-name.ts";
import type { ParsedProgram } from "./parsed-program.ts";
import { nameOf, nodesIn } from "./syntax-nodes.ts";

/** Maximum of declarations that a name is followed through. Declarations may refer to each other. */
const MAX_STEPS = 32;

/** What a name is declared as. `key`: the field that it is of that, as in `const { find } = tools.crm`. */
interface NamedValue {
  readonly from: AnyNode;
  readonly key?: string;
}

/** The meaning of a program's names. A name counts only if the program declares it once and never assigns it again. */
export function programNames(body: ParsedProgram["body"]) {
  /** Names of methods and fields that the program gives to objects of its own. */
  const methods = new Set<string>();
  /** Declarations and assignments of each name. */
  const declared = new Map<string, number>();
  const values = new Map<string, NamedValue>();
  let hidesTools = false;
  for (const node of nodesIn(body)) {
    for (const [pattern, isParameter = false] of declaredBy(node))
      for (const name of namesIn(pattern)) {
        declared.set(name, (declared.get(name) ?? 0) + 1);
        if (name === "tools" && !isParameter) hidesTools = true;
      }
    for (const [name, value] of valuesOf(node)) values.set(name, value);
    const { key, value } = (MEMBERS.has(node.type) ? node : {}) as Partial<Property>;
    if (key && value && isFunction(value)) methods.add(nameOf(key));
  }
  const valueOf = (name: string) => (declared.get(name) === 1 ? values.get(name) : undefined);

  /** What a name is declared as, if it is declared once; any other expression as it is. */
  function meantBy(node: AnyNode): AnyNode | undefined {
    if (node.type !== "Identifier") return node;
    const value = valueOf(node.name);
    return value?.key === undefined ? value?.from : undefined;
  }

  return {
    methods,
    meantBy,

    /** Whether an expression is an async function, or the name of one. */
    isAsync(node: AnyNode): boolean {
      const value = meantBy(node);
      const isOne = value && (isFunction(value) || value.type === "FunctionDeclaration");
      return isOne === true && value.async && !value.generator;
    },

    /** The name of the tool that an expression stands for; undefined for any other expression. */
    toolPath(expression: AnyNode): string | undefined {
      const [root, path] = pathOf(expression, valueOf);
      if (root === "tools") return hidesTools ? undefined : path.join(".");
      return path.length === 0 && !declared.has(root) ? CALLING_FUNCTIONS.get(root) : undefined;
    },
  };
}

export type ProgramNames = ReturnType<typeof programNames>;

const MEMBERS: ReadonlySet<string> = new Set(["Property", "MethodDefinition", "PropertyDefinition"]);

/** The name that an expression begins with, and the names of the fields from there on; without a name for any other expression. */
function pathOf(
  expression: AnyNode,
  valueOf: (name: string) => NamedValue | undefined,
): readonly [string, readonly string[]] {
  const path: string[] = [];
  let node = expression;
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    if (node.type === "MemberExpression") {
      const { object, property, computed } = node;
      const key = computed ? "value" in property && property.value : nameOf(property);
      if (typeof key !== "string") break;
      path.unshift(key);
      node = object;
      continue;
    }
    if (node.type !== "Identifier") break;
    const { name } = node;
    const value = name === "tools" ? undefined : valueOf(name);
    if (!value) return [name, path];
    if (value.key !== undefined) path.unshift(value.key);
    node = value.from;
  }
  return ["", path];
}

/** The patterns by which a node declares or assigns names, and whether they are parameters. */
function declaredBy(node: AnyNode): (readonly [Pattern | null | undefined, boolean?])[] {
  switch (node.type) {
    case "FunctionDeclaration":
    case "FunctionExpression":
      return [[node.id], ...node.params.map((param) => [param, true] as const)];
    case "ArrowFunctionExpression":
      return node.params.map((param) => [param, true] as const);
    case "ClassDeclaration":
    case "VariableDeclarator":
      return [[node.id]];
    case "CatchClause":
      return [[node.param]];
    case "AssignmentExpression":
      return [[node.left]];
    case "ForInStatement":
    case "ForOfStatement":
      return node.left.type === "VariableDeclaration" ? [] : [[node.left]];
    default:
      return [];
  }
}

function valuesOf(node: AnyNode): (readonly [string, NamedValue])[] {
  if (node.type === "FunctionDeclaration") return node.id ? [[node.id.name, { from: node }]] : [];
  if (node.type !== "VariableDeclarator" || !node.init) return [];
  const { id, init: from } = node;
  if (id.type === "Identifier") return [[id.name, { from }]];
  return id.type !== "ObjectPattern"
    ? []
    : id.properties.flatMap((part) =>
        part.type === "Property" && part.value.type === "Identifier" && part.key.type === "Identifier"
          ? [[part.value.name, { from, key: part.key.name }] as const]
          : [],
      );
}

function isFunction(node: AnyNode) {
  return node.type === "ArrowFunctionExpression" || node.type === "FunctionExpression";
}

/** Names that a pattern binds or assigns. Its depth is bounded, as that of every program is. */
function namesIn(pattern: Pattern | null | undefined): string[] {
  switch (pattern?.type) {
    case "Identifier":
      return [pattern.name];
    case "ObjectPattern":
      return pattern.properties.flatMap((part) => namesIn(part.type === "RestElement" ? part : part.value));
    case "ArrayPattern":
      return pattern.elements.flatMap((part) => namesIn(part));
    case "RestElement":
      return namesIn(pattern.argument);
    case "AssignmentPattern":
      return namesIn(pattern.left);
    default:
      return [];
  }
}
