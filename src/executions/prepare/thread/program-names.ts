import type { AnyNode, Pattern, VariableDeclarator } from "acorn";
import { CALLING_FUNCTIONS } from "../../../tools/tool-name.ts";
import type { ParsedProgram } from "./parsed-program.ts";
import { nameOf, nodesIn } from "./syntax-nodes.ts";

/** Maximum of declarations that a name is followed through. Declarations may refer to each other. */
const MAX_STEPS = 32;

/** The meaning of a program's names. A name counts only if the program declares it once and never assigns it again. */
export class ProgramNames {
  /** Names of methods and fields that the program gives to objects of its own. */
  readonly methods = new Set<string>();
  /** Declarations and assignments of each name. */
  readonly #declared = new Map<string, number>();
  readonly #functions = new Map<string, AnyNode>();
  readonly #constants = new Map<string, AnyNode>();
  /** The source of a destructured name: `const { find } = tools.crm`. */
  readonly #parts = new Map<string, { readonly from: AnyNode; readonly key: string }>();
  #hidesTools = false;

  constructor(body: ParsedProgram["body"]) {
    for (const node of nodesIn(body)) this.#read(node);
  }

  /** Whether an expression is an async function, or the name of one. */
  isAsync(node: AnyNode): boolean {
    const value = this.functionOf(node);
    const isOne = value && (isFunction(value) || value.type === "FunctionDeclaration");
    return isOne === true && value.async && !value.generator;
  }

  /** The function that a name is declared as, if it is declared once; any other expression as it is. */
  functionOf(node: AnyNode): AnyNode | undefined {
    if (node.type !== "Identifier") return node;
    const { name } = node;
    return this.#isUnique(name) ? (this.#functions.get(name) ?? this.#constants.get(name)) : undefined;
  }

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
      if (name === "tools") return this.#hidesTools ? undefined : path.join(".");
      if (CALLING_FUNCTIONS.has(name) && !this.#declared.has(name))
        return path.length === 0 ? CALLING_FUNCTIONS.get(name) : undefined;
      const part = this.#parts.get(name);
      const value = part?.from ?? this.#constants.get(name);
      if (value === undefined || !this.#isUnique(name)) return undefined;
      if (part) path.unshift(part.key);
      node = value;
    }
    return undefined;
  }

  promiseIn(name: string): AnyNode | undefined {
    return this.#isUnique(name) ? this.#constants.get(name) : undefined;
  }

  #isUnique(name: string): boolean {
    return this.#declared.get(name) === 1;
  }

  #declare(pattern: Pattern | null | undefined, isParameter = false): void {
    for (const name of namesIn(pattern)) {
      this.#declared.set(name, (this.#declared.get(name) ?? 0) + 1);
      if (name === "tools" && !isParameter) this.#hidesTools = true;
    }
  }

  #read(node: AnyNode): void {
    switch (node.type) {
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        if (node.type !== "ArrowFunctionExpression") this.#declare(node.id);
        if (node.type === "FunctionDeclaration" && node.id) this.#functions.set(node.id.name, node);
        for (const param of node.params) this.#declare(param, true);
        return;
      case "ClassDeclaration":
        return this.#declare(node.id);
      case "CatchClause":
        return this.#declare(node.param);
      case "AssignmentExpression":
        return this.#declare(node.left);
      case "ForInStatement":
      case "ForOfStatement":
        if (node.left.type !== "VariableDeclaration") this.#declare(node.left);
        return;
      case "Property":
      case "MethodDefinition":
      case "PropertyDefinition":
        if (node.value && isFunction(node.value)) this.methods.add(nameOf(node.key));
        return;
      case "VariableDeclarator":
        return this.#readVariable(node);
      default:
    }
  }

  #readVariable({ id, init }: VariableDeclarator): void {
    this.#declare(id);
    if (!init) return;
    if (id.type === "Identifier") this.#constants.set(id.name, init);
    if (id.type !== "ObjectPattern") return;
    for (const part of id.properties)
      if (part.type === "Property" && part.value.type === "Identifier" && part.key.type === "Identifier")
        this.#parts.set(part.value.name, { from: init, key: part.key.name });
  }
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
