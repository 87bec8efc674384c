import type { Function as FunctionNode, MemberExpression, Node, Pattern, VariableDeclarator } from "acorn";
import { CALLING_FUNCTIONS } from "../../../tools/tool-name.ts";
import type { ReadProgram } from "./read-program.ts";
import { nodesIn } from "./syntax-nodes.ts";

/** Maximum of declarations that a name is followed through. Declarations may refer to each other. */
const MAX_STEPS = 32;

/** The meaning of a program's names. A name counts only if the program declares it once and never assigns it again. */
export class ProgramNames {
  /** Names of methods and fields that the program gives to objects of its own. */
  readonly methods = new Set<string>();
  /** Declarations and assignments of each name. */
  readonly #declared = new Map<string, number>();
  readonly #functions = new Map<string, Node>();
  readonly #constants = new Map<string, Node>();
  /** The source of a destructured name: `const { find } = tools.crm`. */
  readonly #parts = new Map<string, { readonly from: Node; readonly key: string }>();
  #hidesTools = false;

  constructor(body: ReadProgram["body"]) {
    for (const node of nodesIn(body)) this.#read(node);
  }

  /** Whether an expression is an async function, or the name of one. */
  isAsync(node: Node): boolean {
    const value = this.functionOf(node);
    return value !== undefined && isAsyncFunction(value);
  }

  /** The function that a name is declared as, if it is declared once; any other expression as it is. */
  functionOf(node: Node): Node | undefined {
    if (node.type !== "Identifier") return node;
    const { name } = node as unknown as { name: string };
    return this.#isUnique(name) ? (this.#functions.get(name) ?? this.#constants.get(name)) : undefined;
  }

  /** The name of the tool that an expression stands for; undefined for any other expression. */
  toolPath(expression: Node): string | undefined {
    const path: string[] = [];
    let node = expression;
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
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

  /** The call whose promise a constant holds. */
  promiseIn(name = ""): Node | undefined {
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

  #read(node: Node): void {
    switch (node.type) {
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return this.#readFunction(node as unknown as { id: Pattern | null; params: Pattern[] } & Node);
      case "ClassDeclaration":
        return this.#declare((node as unknown as { id: Pattern }).id);
      case "CatchClause":
        return this.#declare((node as unknown as { param: Pattern | null }).param);
      case "AssignmentExpression":
        return this.#declare((node as unknown as { left: Pattern }).left);
      case "ForInStatement":
      case "ForOfStatement": {
        const { left } = node as unknown as { left: Node };
        if (left.type !== "VariableDeclaration") this.#declare(left as Pattern);
        return;
      }
      case "Property":
      case "MethodDefinition":
      case "PropertyDefinition": {
        const { key, value } = node as unknown as { key: { name?: string }; value: Node | null };
        if (value && isFunction(value)) this.methods.add(key.name ?? "");
        return;
      }
      case "VariableDeclarator":
        return this.#readVariable(node as VariableDeclarator);
      default:
    }
  }

  #readFunction(node: { readonly id: Pattern | null; readonly params: readonly Pattern[] } & Node): void {
    const { type, id, params } = node;
    if (type !== "ArrowFunctionExpression") this.#declare(id);
    for (const param of params) this.#declare(param, true);
    if (type === "FunctionDeclaration" && id?.type === "Identifier") this.#functions.set(id.name, node);
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
