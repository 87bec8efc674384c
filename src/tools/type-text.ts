import type { JsonSchema } from "./schema.ts";

export interface TypeTextOptions {
  /** Longest description of a property, in characters; 0 leaves them out. */
  readonly descriptionLength: number;
  /** Levels of nesting written out; deeper ones become `object` or `unknown[]`. */
  readonly depth: number;
}

/** Literals of one enumeration written out. */
const LITERALS_SHOWN = 16;

/**
 * A JSON Schema as a TypeScript type on one line, for a model to read. It follows `$ref` within the schema only.
 * What has no counterpart in TypeScript (patterns, bounds) is left out: the gate checks it.
 */
export function typeText(schema: JsonSchema, options: TypeTextOptions): string {
  return new TypePrinter(schema, options).print(schema, 0);
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

class TypePrinter {
  readonly #root: JsonSchema;
  readonly #options: TypeTextOptions;
  readonly #following: string[] = [];

  constructor(root: JsonSchema, options: TypeTextOptions) {
    this.#root = root;
    this.#options = options;
  }

  print(schema: unknown, depth: number): string {
    if (schema === false) return "never";
    if (!isSchemaObject(schema)) return "unknown";
    if (typeof schema.$ref === "string") return this.#follow(schema.$ref, depth);
    if ("const" in schema) return literal(schema.const);
    if (Array.isArray(schema.enum)) return enumeration(schema.enum);
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(alternatives)) return unique(alternatives.map((one) => this.print(one, depth))).join(" | ");
    if (Array.isArray(schema.allOf))
      return unique(schema.allOf.map((one) => group(this.print(one, depth)))).join(" & ");
    if (Array.isArray(schema.type))
      return unique(schema.type.map((type) => this.#printType(type, schema, depth))).join(" | ");
    return this.#printType(schema.type, schema, depth);
  }

  #printType(type: unknown, schema: JsonSchema, depth: number): string {
    switch (type) {
      case "string":
      case "number":
      case "boolean":
      case "null":
        return type;
      case "integer":
        return "number";
      case "array":
        return this.#printArray(schema, depth);
      case "object":
        return this.#printObject(schema, depth);
      default:
        return isSchemaObject(schema.properties) ? this.#printObject(schema, depth) : "unknown";
    }
  }

  #printArray(schema: JsonSchema, depth: number): string {
    if (depth >= this.#options.depth) return "unknown[]";
    if (Array.isArray(schema.prefixItems))
      return `[${schema.prefixItems.map((item) => this.print(item, depth + 1)).join(", ")}]`;
    return `${group(this.print(schema.items, depth))}[]`;
  }

  #printObject(schema: JsonSchema, depth: number): string {
    const properties = isSchemaObject(schema.properties) ? Object.entries(schema.properties) : [];
    if (depth >= this.#options.depth) return "object";
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const fields = properties.map(
      ([name, property]) =>
        `${propertyName(name)}${required.has(name) ? "" : "?"}: ${this.print(property, depth + 1)}${this.#comment(property)}`,
    );
    const others = schema.additionalProperties;
    if (isSchemaObject(others) && (fields.length === 0 || Object.keys(others).length > 0)) {
      const record = `Record<string, ${this.print(others, depth + 1)}>`;
      return fields.length === 0 ? record : `{ ${fields.join(", ")} } & ${record}`;
    }
    if (fields.length > 0) return `{ ${fields.join(", ")} }`;
    return others === false || isSchemaObject(schema.properties) ? "{}" : "Record<string, unknown>";
  }

  #comment(property: unknown): string {
    if (this.#options.descriptionLength === 0 || !isSchemaObject(property) || typeof property.description !== "string")
      return "";
    return ` /* ${oneLine(property.description, this.#options.descriptionLength)} */`;
  }

  #follow(reference: string, depth: number): string {
    if (this.#following.includes(reference)) return "unknown";
    this.#following.push(reference);
    const text = this.print(resolve(this.#root, reference), depth);
    this.#following.pop();
    return text;
  }
}

function resolve(root: JsonSchema, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let place: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, key)) return undefined;
    place = (place as Record<string, unknown>)[key];
  }
  return place;
}

function isSchemaObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function enumeration(values: readonly unknown[]): string {
  const shown = values.slice(0, LITERALS_SHOWN).map(literal);
  return values.length > shown.length
    ? `${shown.join(" | ")} | (${values.length - shown.length} more)`
    : shown.join(" | ");
}

function literal(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(oneLine(value, 64)) : (JSON.stringify(value) ?? "unknown");
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(oneLine(name, 64));
}

function group(type: string): string {
  return / [|&] /.test(type) && !/^\{.*\}$|^\(.*\)$/.test(type) ? `(${type})` : type;
}

function unique(types: readonly string[]): string[] {
  return [...new Set(types)];
}
