import type { AnyNode, Pattern, VariableDeclarator } from "acorn";
import { CALLING_FUNCTIONS } from "../../../tools/tool-name.ts";
import type { ParsedProgram } from "./parsed-program.ts";
import { nameOf, nodesIn } from "./syntax-nodes.ts";

/** Maximum of declarations that a name is followed through. Declarations may refer to each other. */
const MAX_STEPS = 32;

/** The meaning of a program's names. A name counts only if the program declares it once and never assigns it again. */
export function programNames(body: ParsedProgram["body"]) {
  /** Names of methods and fields that the program gives to objects of its own. */
  const methods = new Set<string>();
  /** Declarations and assignments of each name. */
  const declared = new Map<string, number>();
  /** What each name is declared as. `key`: the field that it is of that, as in `const { find } = tools.crm`. */
  const values = new Map<string, { readonly from: AnyNode; readonly key?: string }>();
  let hidesTools = false;
  const valueOf = (name: string) => (declared.get(name) === 1 ? values.get(name) : undefined);

  function declare(pattern: Pattern | null | undefined, isParameter = false): void {
    for (const name of namesIn(pattern)) {
      declared.set(name, (declared.get(name) ?? 0) + 1);
      if (name === "tools" && !isParameter) hidesTools = true;
    }
  }

  function read(node: AnyNode): void {
    switch (node.type) {
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        if (node.type !== "ArrowFunctionExpression") declare(node.id);
        if (node.type === "FunctionDeclaration" && node.id) values.set(node.id.name, { from: node });
        for (const param of node.params) declare(param, true);
        return;
      case "ClassDeclaration":
        return declare(node.id);
      case "CatchClause":
        return declare(node.param);
      case "AssignmentExpression":
        return declare(node.left);
      case "ForInStatement":
      case "ForOfStatement":
        if (node.left.type !== "VariableDeclaration") declare(node.left);
        return;
      case "Property":
      case "MethodDefinition":
      case "PropertyDefinition":
        if (node.value && isFunction(node.value)) methods.add(nameOf(node.key));
        return;
      case "VariableDeclarator":
        return readVariable(node);
      default:
    }
  }

  function readVariable({ id, init }: VariableDeclarator): void {
    declare(id);
    if (init && id.type === "Identifier") values.set(id.name, { from: init });
    if (!init || id.type !== "ObjectPattern") return;
    for (const part of id.properties)
      if (part.type === "Property" && part.value.type === "Identifier" && part.key.type === "Identifier")
        values.set(part.value.name, { from: init, key: part.key.name });
  }

  /** What a name is declared as, if it is declared once; any other expression as it is. */
  function meantBy(node: AnyNode): AnyNode | undefined {
    if (node.type !== "Identifier") return node;
    const value = valueOf(node.name);
    return value?.key === undefined ? value?.from : undefined;
  }
  for (const node of nodesIn(body)) read(node);
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
      const path: string[] = [];
      let node = expression;
      for (let steps = 0; steps < MAX_STEPS; steps += 1) {
        if (node.type === "MemberExpression") {
          const { object, property, computed } = node;
          const key = computed ? "value" in property && property.value : nameOf(property);
          if (typeof key !== "string") return undefined;
          path.unshift(key);
          node = object;
          continue;
        }
        if (node.type !== "Identifier") return undefined;
        const { name } = node;
        if (name === "tools") return hidesTools ? undefined : path.join(".");
        if (CALLING_FUNCTIONS.has(name) && !declared.has(name))
          return path.length === 0 ? CALLING_FUNCTIONS.get(name) : undefined;
        const value = valueOf(name);
        if (!value) return undefined;
        if (value.key !== undefined) path.unshift(value.key);
        node = value.from;
      }
      return undefined;
    },
  };
}

export type ProgramNames = ReturnType<typeof programNames>;

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
