import { type Fields, isFields, listOf, nextTurn } from "../../base/index.ts";
import { type JsonSchema, resolveReference } from "../../tools/json-schema/json-schema.ts";
import { inputSchemaOf, jsonSchemaOf } from "../../tools/tool-schemas.ts";
import type { Tool } from "../../tools/tool.ts";

export type DeclaredKind = "string" | "number" | "boolean" | "array" | "object";

/** What a type of the declarations stands for. Types have names, so that a message of the compiler says what it is about. */
export interface DeclaredType {
  /** `value`: what is no object and no list, in an input. Undefined for a namespace of tools. */
  readonly of: "namespace" | "input" | "value" | "result";
  readonly tool: Tool | undefined;
  /** Keys from the root of the input or the result; of an element of a list 0. */
  readonly path: readonly (string | number)[];
  readonly names: readonly string[];
  /** Of inputs: the kinds of values that are taken. */
  readonly kinds: readonly string[];
  /** Whether a schema says that there are no other fields. */
  readonly isClosed: boolean;
}

export interface Declarations {
  /** A declaration of `tools`, in TypeScript. */
  readonly text: string;
  readonly types: ReadonlyMap<string, DeclaredType>;
}

/** Names of the types: no program has variables of this form. */
export const TYPE_NAME = String.raw`\$[NIR]\d+\$`;

/** Tools whose types are declared, parts of all their schemas that are read, and levels of nesting: the host's thread does this. */
const [TOOLS_READ, PARTS_READ, DEPTH] = [50, 10_000, 8];
/** Characters of all types. What is beyond is declared as `any`. */
const TEXT_LENGTH = 1_000_000;
/** Names that are declared. No other character reaches the declarations, or a message of the compiler. */
const PLAIN_NAME = /^[\p{L}\p{N}_$ .:@/#-]{1,100}$/u;
/** Words of a schema that say nothing about what fields there are. */
const ASIDE = new Set(
  "title description default deprecated nullable readOnly writeOnly example examples required $comment".split(" "),
);
/** Words that make an input other than its fields say. */
const CHOOSING = "anyOf oneOf allOf not if then else $ref propertyNames patternProperties dependentSchemas".split(" ");

/**
 * Declares `tools` for the check of a program: types for the tools that it may mention, `any` for others and for what is
 * not certain. Results have all their fields, as a program reads them. An enumeration is declared as its base type.
 */
export async function declareForCheck(tools: readonly Tool[], program: string): Promise<Declarations> {
  const words = new Set(program.match(/[\p{ID_Continue}$]+/gu));
  const declarer = new Declarer();
  const mentioned = tools.filter(({ name }) => words.has(name.slice(name.lastIndexOf(".") + 1))).slice(0, TOOLS_READ);
  const calls = new Map<Tool, string>();
  for (const tool of mentioned) {
    calls.set(tool, declarer.call(tool));
    // To copy a large schema takes milliseconds.
    await nextTurn();
  }
  const root = declarer.namespace("", tools, calls);
  return { text: `${declarer.text}declare const tools: ${root};\n`, types: declarer.types };
}

class Declarer {
  readonly types = new Map<string, DeclaredType>();
  text = "declare const wanted: unique symbol;\ndeclare function structuredClone<T>(value: T): T;\n";
  #tool: Tool | undefined;
  #root: JsonSchema = {};
  #partsRead = 0;
  /** Types by their only part: a schema may refer to itself. */
  #typeNames = new Map<Fields, string>();

  /** `prefix` is the path of the namespace, with a dot. */
  namespace(prefix: string, tools: readonly Tool[], calls: ReadonlyMap<Tool, string>): string {
    const groups = Map.groupBy(tools, ({ name }) => name.slice(prefix.length).split(".", 1)[0] ?? "");
    const type = { path: [prefix], names: [...groups.keys()], tool: undefined };
    return this.#interface("namespace", type, () =>
      [...groups].map(([part, within]) => {
        const tool = within.find(({ name }) => name === prefix + part);
        const inner = within.filter((one) => one !== tool);
        const call = tool && (calls.get(tool) ?? "any");
        const nested = inner.length > 0 ? [this.namespace(`${prefix}${part}.`, inner, calls)] : [];
        return `${JSON.stringify(part)}: ${[...(call === undefined ? [] : [call]), ...nested].join(" & ")}`;
      }),
    );
  }

  call(tool: Tool): string {
    this.#tool = tool;
    const input = tool.textFormat === undefined ? this.#typeOf(inputSchemaOf(tool), "input") : "any";
    const output = tool.outputSchema && this.#typeOf(jsonSchemaOf(tool.name, "output", tool.outputSchema), "result");
    const answer = `${tool.stream ? "AsyncGenerator" : "Promise"}<${output ?? "any"}>`;
    const needs = input !== "any" && listOf(inputSchemaOf(tool), "required").length > 0;
    // Without an argument the compiler names no type, but where what is called needs a `this` that nothing is.
    const without = needs ? `(this: ${input} | 0): ${answer}; ` : "";
    return `{ ${without}(input${needs ? "" : "?"}: ${input}, ...more: any[]): ${answer} }`;
  }

  #typeOf(root: JsonSchema, side: "input" | "result"): string {
    this.#root = root;
    this.#typeNames = new Map();
    return this.#type([root], [], side);
  }

  /**
   * The type of a value that one of the schemas describes: which of them it is, a program knows of a result. What more than
   * the kind and the fields of an input decides about is `any`.
   */
  #type(schemas: readonly unknown[], path: DeclaredType["path"], side: "input" | "result"): string {
    const parts = this.#parts(schemas, path) ?? [];
    const [only] = parts;
    const kinds = [...new Set(parts.flatMap(kindsOf))];
    const isInput = side === "input";
    if (!only || (isInput && (parts.length > 1 || CHOOSING.some((word) => word in only)))) return "any";
    if (kinds.every((kind) => SCALARS.has(kind))) {
      const value = isInput ? [this.#interface("value", { path, kinds }, () => [WANTED])] : [];
      return [...kinds, ...value].join(" | ");
    }
    if (kinds.length > 1 || parts.some((part) => "prefixItems" in part)) return "any";
    if (kinds[0] === "array") {
      const items = parts.map((part) => part.items);
      const list = `Array<${this.#type(items, [...path, 0], side)}>`;
      return isInput ? this.#interface(side, { path, kinds }, () => [], ` extends ${list}`) : list;
    }
    const typeName = parts.length === 1 ? this.#typeNames.get(only) : undefined;
    if (typeName !== undefined || kinds[0] !== "object") return typeName ?? "any";
    const fields = Map.groupBy(
      parts.flatMap(({ properties }) => Object.entries(plainFields(properties) ?? {})),
      ([field]) => field,
    );
    const required = new Set(isInput ? listOf(only, "required") : fields.keys());
    const isClosed = parts.every(({ additionalProperties }) => additionalProperties === false);
    return this.#interface(side, { path, names: [...fields.keys()], kinds, isClosed }, (name) => {
      if (parts.length === 1) this.#typeNames.set(only, name);
      const members = [...fields].map(([field, all]) => {
        const within = all.map(([, schema]) => schema);
        const mark = required.has(field) ? "" : "?";
        return `${JSON.stringify(field)}${mark}: ${this.#type(within, [...path, field], side)}`;
      });
      return parts.some(mayHaveOthers) || (isInput && !isClosed) ? [...members, ANY_FIELD] : members;
    });
  }

  /** The parts of schemas of which one describes the value, without null; undefined if one of them says too little. */
  #parts(schemas: readonly unknown[], path: DeclaredType["path"], depth = 0): readonly Fields[] | undefined {
    this.#partsRead += schemas.length;
    if (path.length + depth > DEPTH || this.#partsRead > PARTS_READ || this.text.length > TEXT_LENGTH) return undefined;
    const parts: Fields[] = [];
    for (const schema of schemas) {
      if (!isFields(schema)) return undefined;
      if (schema.type === "null" || schema.const === null) continue;
      const { $ref } = schema;
      const inner = ["anyOf", "oneOf", "allOf"].flatMap((word) => listOf(schema, word));
      const others = typeof $ref === "string" ? [resolveReference(this.#root, $ref), ...inner] : inner;
      const isOwn = kindsOf(schema).length > 0;
      const telling = others.filter((one) => !(isFields(one) && Object.keys(one).every((word) => ASIDE.has(word))));
      const within = this.#parts(telling, path, depth + 1);
      if (!within || (!isOwn && others.length === 0)) return undefined;
      parts.push(...(isOwn ? [schema] : []), ...within);
    }
    return parts;
  }

  /** Declares a type, whose members may name it, and gives its name. */
  #interface(
    of: DeclaredType["of"],
    type: Partial<DeclaredType> & Pick<DeclaredType, "path">,
    members: (name: string) => readonly string[],
    base = "",
  ): string {
    const letter = of === "namespace" ? "N" : of === "result" ? "R" : "I";
    const name = `$${letter}${this.types.size}$`;
    this.types.set(name, { of, names: [], kinds: [], isClosed: false, tool: this.#tool, ...type });
    // Of results of two tools the compiler would keep the one with fewer fields.
    const own = of === "result" ? [`readonly [wanted]: ${this.types.size}`] : [];
    const body = [...own, ...members(name)].join("; ");
    this.text += `interface ${name}${base} { ${body} }\n`;
    return name;
  }
}

const SCALARS: ReadonlySet<string> = new Set(["string", "number", "boolean"]);
/** No program makes a value of a type with it. */
const WANTED = "readonly [wanted]: 0";
const ANY_FIELD = "[others: string]: any";

/** A long enumeration may be referred to from thousands of places. */
const knownKinds = new WeakMap<Fields, readonly string[]>();

/** The kinds of values that a part takes, without null; none if it does not say. */
function kindsOf(part: Fields): readonly string[] {
  const kinds = knownKinds.get(part) ?? readKinds(part);
  knownKinds.set(part, kinds);
  return kinds;
}

function readKinds({ type, enum: some, const: only, properties }: Fields): readonly string[] {
  const values = Array.isArray(some) ? (some as readonly unknown[]) : only === undefined ? undefined : [only];
  const types = values?.map((value) => (value === null ? "null" : typeof value)) ?? [type].flat();
  const kinds = types.map((kind) => (kind === "integer" ? "number" : kind));
  if (values === undefined && type === undefined) return isFields(properties) ? ["object"] : [];
  const kindNames = kinds.filter((kind) => typeof kind === "string");
  return [...new Set(kindNames)].filter((kind) => kind !== "null");
}

function plainFields(properties: unknown): Fields | undefined {
  if (!isFields(properties)) return undefined;
  return Object.keys(properties).every((name) => PLAIN_NAME.test(name)) ? properties : undefined;
}

/** Whether an object may have fields that the schema does not name and knows of. */
function mayHaveOthers(part: Fields): boolean {
  const { additionalProperties, patternProperties, propertyNames, unevaluatedProperties, properties } = part;
  const open = [additionalProperties, unevaluatedProperties].some((one) => one === true || isFields(one));
  return open || patternProperties !== undefined || propertyNames !== undefined || !plainFields(properties);
}
