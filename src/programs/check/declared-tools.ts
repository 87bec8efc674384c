import { type JsonSchema, resolveReference } from "../../tools/json-schema/json-schema.ts";
import { inputSchemaOf, jsonSchemaOf } from "../../tools/tool-schemas.ts";
import type { Tool } from "../../tools/tool.ts";
import { type Fields, isFields } from "../../values/fields.ts";

export type Kind = "string" | "number" | "boolean" | "array" | "object";

/** What a type of the declarations stands for. Types have names, so that a message of the compiler says what it is about. */
export interface DeclaredType {
  /** `value`: what is no object and no list, in an input. Undefined for a namespace of tools. */
  readonly of: "namespace" | "input" | "value" | "result";
  readonly tool: Tool | undefined;
  /** Keys from the root of the input or the result; of an element of a list 0. */
  readonly path: readonly (string | number)[];
  /** Names of fields, or of what is in a namespace, with their paths. */
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

/** Parts of the schemas of one tool that are read, and levels of nesting that are declared. */
const [PARTS_READ, DEPTH] = [2000, 8];
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
export function declareTools(tools: readonly Tool[], program: string): Declarations {
  const words = new Set(program.match(/[\p{ID_Continue}$]+/gu));
  const declarer = new Declarer();
  const root = declarer.namespace("", tools, (name) => words.has(name.slice(name.lastIndexOf(".") + 1)));
  return { text: `${declarer.text}declare const tools: ${root};\n`, types: declarer.types };
}

class Declarer {
  readonly types = new Map<string, DeclaredType>();
  text = "declare const wanted: unique symbol;\n";
  #tool: Tool | undefined;
  #root: JsonSchema = {};
  #partsRead = 0;
  /** Results' types by their only part: a schema may refer to itself. */
  #known = new Map<Fields, string>();

  /** `prefix` is the path of the namespace, with a dot. */
  namespace(prefix: string, tools: readonly Tool[], isMentioned: (name: string) => boolean): string {
    const groups = Map.groupBy(tools, ({ name }) => name.slice(prefix.length).split(".", 1)[0] ?? "");
    const type = this.#named({ of: "namespace", path: [prefix], names: [...groups.keys()] });
    const members = [...groups].map(([part, within]) => {
      const tool = within.find(({ name }) => name === prefix + part);
      const inner = within.filter((one) => one !== tool);
      const call = tool && (isMentioned(tool.name) ? this.#call(tool) : "any");
      const nested = inner.length > 0 && call !== "any" ? this.namespace(`${prefix}${part}.`, inner, isMentioned) : "";
      return `${JSON.stringify(part)}: ${[call ?? "", nested].filter((one) => one !== "").join(" & ")}`;
    });
    return this.#interface(type, members);
  }

  #call(tool: Tool): string {
    this.#tool = tool;
    this.#partsRead = 0;
    this.#known = new Map();
    this.#root = inputSchemaOf(tool);
    const input = tool.textFormat === undefined ? this.#input(this.#root, []) : "any";
    this.#root = tool.output === undefined ? {} : jsonSchemaOf(tool.name, "output", tool.output);
    const result = this.#result([this.#root], []);
    const answer = tool.stream ? `AsyncGenerator<${result}>` : `Promise<${result}>`;
    return `{ (input?: ${input}, ...more: any[]): ${answer} }`;
  }

  /** The type of a part of an input. What more than its fields decides about is `any`. */
  #input(schema: unknown, path: DeclaredType["path"]): string {
    const part = this.#isSpent(path) ? undefined : onlyAlternative(schema);
    if (!part || CHOOSING.some((word) => word in part)) return "any";
    const kinds = kindsOf(part);
    if (kinds.length === 1 && kinds[0] === "object") return this.#inputObject(part, path);
    const isScalar = kinds.every((kind) => SCALARS.has(kind));
    if (kinds.length === 0 || !(isScalar || (kinds.length === 1 && kinds[0] === "array" && !part.prefixItems)))
      return "any";
    const name = this.#named({ of: isScalar ? "value" : "input", path, kinds });
    if (isScalar) return `${kinds.join(" | ")} | ${this.#interface(name, ["readonly [wanted]: 0"])}`;
    return this.#interface(name, [], `Array<${this.#input(part.items, [...path, 0])}>`);
  }

  #inputObject(part: Fields, path: DeclaredType["path"]): string {
    const properties = plainFields(part.properties);
    if (!properties) return "any";
    const required = new Set(Array.isArray(part.required) ? part.required : []);
    const isClosed = part.additionalProperties === false;
    const name = this.#named({ of: "input", path, names: Object.keys(properties), kinds: ["object"], isClosed });
    const members = Object.entries(properties).map(
      ([field, schema]) =>
        `${JSON.stringify(field)}${required.has(field) ? "" : "?"}: ${this.#input(schema, [...path, field])}`,
    );
    return this.#interface(name, isClosed ? members : [...members, ANY_FIELD]);
  }

  /** The type of a value that one of the schemas describes. Which of them it is, a program knows. */
  #result(schemas: readonly unknown[], path: DeclaredType["path"]): string {
    const parts = schemas.map((schema) => this.#alternatives(schema, path));
    if (this.#isSpent(path) || !parts.every((one) => one !== undefined)) return "any";
    const all = parts.flat().filter((part) => !isNull(part));
    const kinds = new Set(all.flatMap(kindsOf));
    const [kind] = kinds;
    if (kinds.size > 0 && [...kinds].every((one) => SCALARS.has(one))) return [...kinds].join(" | ");
    if (kinds.size !== 1) return "any";
    if (kind === "object") return this.#resultObject(all, path);
    if (kind !== "array" || all.some(({ prefixItems }) => prefixItems !== undefined)) return "any";
    const element = this.#result(
      all.map(({ items }) => items),
      [...path, 0],
    );
    return `Array<${element}>`;
  }

  #resultObject(parts: readonly Fields[], path: DeclaredType["path"]): string {
    const [only] = parts;
    const known = parts.length === 1 && only ? this.#known.get(only) : undefined;
    if (known !== undefined) return known;
    const fields = new Map<string, unknown[]>();
    for (const { properties } of parts)
      for (const [field, schema] of Object.entries(plainFields(properties) ?? {}))
        fields.set(field, [...(fields.get(field) ?? []), schema]);
    const isClosed = parts.every(({ additionalProperties }) => additionalProperties === false);
    const name = this.#named({ of: "result", path, names: [...fields.keys()], isClosed });
    if (parts.length === 1 && only) this.#known.set(only, name);
    const members = [...fields].map(
      ([field, schemas]) => `${JSON.stringify(field)}: ${this.#result(schemas, [...path, field])}`,
    );
    return this.#interface(name, parts.some(mayHaveOthers) ? [...members, ANY_FIELD] : members);
  }

  /** The parts of a schema of which one describes the value, without null; undefined if one of them says too little. */
  #alternatives(schema: unknown, path: DeclaredType["path"], depth = 0): readonly Fields[] | undefined {
    this.#partsRead += 1;
    if (!isFields(schema) || depth > DEPTH || this.#isSpent(path)) return undefined;
    const { $ref, anyOf, oneOf, allOf } = schema;
    const others = [
      ...(typeof $ref === "string" ? [resolveReference(this.#root, $ref)] : []),
      ...[anyOf, oneOf, allOf].flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : [])),
    ].filter((one) => !isAside(one) && !isNull(one));
    const isOwn = isNull(schema) || kindsOf(schema).length > 0;
    if (others.length === 0 && !isOwn) return undefined;
    const found = others.map((one) => this.#alternatives(one, path, depth + 1));
    return found.every((one) => one !== undefined) ? [...(isOwn ? [schema] : []), ...found.flat()] : undefined;
  }

  #isSpent(path: DeclaredType["path"]): boolean {
    return path.length > DEPTH || this.#partsRead > PARTS_READ || this.text.length > TEXT_LENGTH;
  }

  #named(type: Partial<DeclaredType> & Pick<DeclaredType, "of" | "path">): string {
    this.#partsRead += 1;
    const letter = { namespace: "N", input: "I", value: "I", result: "R" }[type.of];
    const name = `$${letter}${this.types.size}$`;
    const tool = type.of === "namespace" ? undefined : this.#tool;
    this.types.set(name, { names: [], kinds: [], isClosed: false, tool, ...type });
    return name;
  }

  #interface(name: string, members: readonly string[], base?: string): string {
    this.text += `interface ${name}${base === undefined ? "" : ` extends ${base}`} { ${members.join("; ")} }\n`;
    return name;
  }
}

const SCALARS: ReadonlySet<string> = new Set(["string", "number", "boolean"]);
const ANY_FIELD = "[others: string]: any";

/** The kinds of values that a part takes, without null; none if it does not say. */
function kindsOf({ type, enum: some, const: only, properties }: Fields): readonly string[] {
  const values = Array.isArray(some) ? (some as readonly unknown[]) : only === undefined ? undefined : [only];
  const said = values?.map((value) => (value === null ? "null" : typeof value)) ?? [type].flat();
  const kinds = said.map((kind) => (kind === "integer" ? "number" : kind));
  if (values === undefined && type === undefined) return isFields(properties) ? ["object"] : [];
  const known = kinds.filter((kind) => typeof kind === "string");
  return [...new Set(known)].filter((kind) => kind !== "null");
}

function isNull(schema: unknown): boolean {
  return isFields(schema) && (schema.type === "null" || schema.const === null);
}

function isAside(schema: unknown): boolean {
  return isFields(schema) && Object.keys(schema).every((word) => ASIDE.has(word));
}

/** A schema, or of a choice between it and null the schema. */
function onlyAlternative(schema: unknown): Fields | undefined {
  if (!isFields(schema)) return undefined;
  const choice = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(choice)) return schema;
  const others = (choice as readonly unknown[]).filter((one) => !isNull(one));
  const [only] = others;
  const isAlone = Object.keys(schema).every((word) => ASIDE.has(word) || word === "anyOf" || word === "oneOf");
  return isAlone && others.length === 1 && isFields(only) ? only : undefined;
}

/** The fields of a schema, if all their names can be declared. */
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
