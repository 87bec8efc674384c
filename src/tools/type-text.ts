import { type JsonSchema, resolveReference } from "./schema.ts";

export interface TypeTextOptions {
  /** Longest description of a property, in characters; 0 leaves them out. */
  readonly descriptionLength: number;
  /** Levels of nesting written out; deeper ones become `object` or `unknown[]`. */
  readonly depth: number;
}

/** Literals of one enumeration written out. */
const LITERALS_SHOWN = 16;
/** Parts of a schema that are read for one type: references can make a small schema stand for an enormous one. */
const PARTS_READ = 2000;

/**
 * A JSON Schema as a TypeScript type on one line, for a model to read. It follows `$ref` within the schema only.
 * What has no counterpart in TypeScript (patterns, bounds) is left out: the gate checks it.
 */
export function typeText(schema: JsonSchema, options: TypeTextOptions): string {
  return new TypePrinter(schema, options).print(schema, 0).text;
}

/** A text on one line, cut at a word's end to a length, without what could end a comment or steer a terminal. */
export function oneLine(text: string, length: number): string {
  const line = text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, " ")
    .replaceAll("*/", "* /")
    .trim();
  if (line.length <= length) return line;
  return `${line.slice(0, Math.max(0, length - 1)).replace(/[\s,;:.]+\S{0,12}$/, "")}…`;
}

/** A type, and the operator that joins its parts, if one does: then it needs brackets inside another. */
interface Type {
  readonly text: string;
  readonly joinedBy?: "|" | "&";
}

class TypePrinter {
  readonly #root: JsonSchema;
  readonly #options: TypeTextOptions;
  readonly #following: string[] = [];
  #partsRead = 0;

  constructor(root: JsonSchema, options: TypeTextOptions) {
    this.#root = root;
    this.#options = options;
  }

  print(schema: unknown, depth: number): Type {
    this.#partsRead += 1;
    if (schema === false) return { text: "never" };
    if (!isSchemaObject(schema) || this.#partsRead > PARTS_READ) return { text: "unknown" };
    if (typeof schema.$ref === "string") return this.#follow(schema.$ref, depth);
    if ("const" in schema) return { text: literal(schema.const) };
    if (Array.isArray(schema.enum)) return enumeration(schema.enum);
    const parts = [
      this.#printAlternatives(schema, depth),
      this.#printAll(schema, depth),
      this.#printTyped(schema, depth),
    ];
    return join(
      parts.filter((part) => part !== undefined),
      "&",
    );
  }

  #printAlternatives(schema: JsonSchema, depth: number): Type | undefined {
    const alternatives = schema.anyOf ?? schema.oneOf;
    return Array.isArray(alternatives)
      ? join(
          alternatives.map((one) => this.print(one, depth)),
          "|",
        )
      : undefined;
  }

  #printAll(schema: JsonSchema, depth: number): Type | undefined {
    return Array.isArray(schema.allOf)
      ? join(
          schema.allOf.map((one) => this.print(one, depth)),
          "&",
        )
      : undefined;
  }

  /** What `type` and the words that belong to it say; nothing where they say nothing beside others. */
  #printTyped(schema: JsonSchema, depth: number): Type | undefined {
    if (Array.isArray(schema.type))
      return join(
        schema.type.map((type) => this.#printType(type, schema, depth)),
        "|",
      );
    const isJoined = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    const says =
      isJoined === undefined ||
      isSchemaObject(schema.properties) ||
      (schema.type !== undefined && schema.type !== "object");
    return says ? this.#printType(schema.type, schema, depth) : undefined;
  }

  #printType(type: unknown, schema: JsonSchema, depth: number): Type {
    switch (type) {
      case "string":
      case "number":
      case "boolean":
      case "null":
        return { text: type };
      case "integer":
        return { text: "number" };
      case "array":
        return this.#printArray(schema, depth);
      case "object":
        return this.#printObject(schema, depth);
      default:
        return isSchemaObject(schema.properties) ? this.#printObject(schema, depth) : { text: "unknown" };
    }
  }

  #printArray(schema: JsonSchema, depth: number): Type {
    if (depth >= this.#options.depth) return { text: "unknown[]" };
    if (Array.isArray(schema.prefixItems))
      return { text: `[${schema.prefixItems.map((item) => this.print(item, depth + 1).text).join(", ")}]` };
    return { text: `${bracketed(this.print(schema.items, depth))}[]` };
  }

  #printObject(schema: JsonSchema, depth: number): Type {
    const properties = isSchemaObject(schema.properties) ? Object.entries(schema.properties) : [];
    if (depth >= this.#options.depth) return { text: "object" };
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const fields = properties.map(([name, property]) => {
      const type = this.print(property, depth + 1).text;
      return `${propertyName(name)}${required.has(name) ? "" : "?"}: ${type}${this.#comment(property)}`;
    });
    const others = schema.additionalProperties;
    const record =
      isSchemaObject(others) && (fields.length === 0 || Object.keys(others).length > 0)
        ? { text: `Record<string, ${this.print(others, depth + 1).text}>` }
        : undefined;
    const object = fields.length > 0 ? { text: `{ ${fields.join(", ")} }` } : undefined;
    if (record || object)
      return join(
        [object, record].filter((part) => part !== undefined),
        "&",
      );
    return { text: others === false || isSchemaObject(schema.properties) ? "{}" : "Record<string, unknown>" };
  }

  #comment(property: unknown): string {
    const length = this.#options.descriptionLength;
    if (length === 0 || !isSchemaObject(property) || typeof property.description !== "string") return "";
    return ` /* ${oneLine(property.description, length)} */`;
  }

  #follow(reference: string, depth: number): Type {
    if (this.#following.includes(reference)) return { text: "unknown" };
    this.#following.push(reference);
    const type = this.print(resolveReference(this.#root, reference), depth);
    this.#following.pop();
    return type;
  }
}

function join(types: readonly Type[], operator: "|" | "&"): Type {
  // What is `unknown` and something else is that other thing.
  const saying = operator === "|" ? types : types.filter(({ text }) => text !== "unknown");
  if (operator === "&" && saying.length === 0) return { text: "unknown" };
  const different = [...new Map(saying.map((type) => [type.text, type])).values()];
  const [only] = different;
  if (only && different.length === 1) return only;
  const texts = different.map((type) =>
    type.joinedBy === undefined || type.joinedBy === operator ? type.text : bracketed(type),
  );
  return { text: texts.join(` ${operator} `), joinedBy: operator };
}

function bracketed({ text, joinedBy }: Type): string {
  return joinedBy === undefined ? text : `(${text})`;
}

function isSchemaObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function enumeration(values: readonly unknown[]): Type {
  const shown = values.slice(0, LITERALS_SHOWN).map(literal);
  const more = values.length > shown.length ? [`(${values.length - shown.length} more)`] : [];
  const type = join(
    [...shown, ...more].map((text) => ({ text })),
    "|",
  );
  return type.text === "" ? { text: "never" } : type;
}

function literal(value: unknown): string {
  return typeof value === "string"
    ? JSON.stringify(oneLine(value, 64))
    : oneLine(JSON.stringify(value) ?? "unknown", 200);
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(oneLine(name, 64));
}
