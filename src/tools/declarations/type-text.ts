import { isFields } from "../../base/index.ts";
import { jsonHead } from "../json-schema/json-head.ts";
import { constraintText } from "./constraint-text.ts";
import { commentLine } from "./one-line.ts";
import { type JsonSchema, resolveReference } from "../json-schema/json-schema.ts";
import { type Field, type TypeNotation, TYPESCRIPT } from "./type-notation.ts";

export interface TypeTextOptions {
  /** Maximum length of a property's description, in characters; 0 leaves descriptions out. */
  readonly descriptionLength: number;
  /** Whether fields say what values they take beyond their types; not by default. */
  readonly constraints?: boolean;
  /** Levels of nesting written out; deeper values are shown as object or array only. */
  readonly depth: number;
  /** Notation of the language; TypeScript by default. */
  readonly notation?: TypeNotation;
}

/** Maximum length of a field's name that is no identifier, or one of more than 256 characters. */
const ODD_NAME_LENGTH = 64;
/** Literals of one enumeration written out. */
const LITERALS_SHOWN = 16;
/** Types that a schema can name. */
const TYPES = 7;
/**
 * Maximum characters written for one type, those of a part again for each part around it: references can expand a small schema to
 * an enormous type. Further parts are unknown.
 */
const CHARACTERS = 512 * 1024;
/** Characters that a part counts for beside its text, and each name that is required. */
const PART = 128;

/** A JSON Schema as a type on one line, for a model. What types cannot express is in comments, or left to the gate. */
export function typeText(schema: JsonSchema, options: TypeTextOptions): string {
  return new TypePrinter(schema, options).whole();
}

/** Maximum length of a type in a sentence about a value that does not fit, in characters. */
const SHORT_LENGTH = 400;

/** A type for such a sentence: with the bounds of its fields, or without them, or an empty string, whichever is short first. */
export function shortTypeText(schema: JsonSchema): string {
  const types = [true, false].map((constraints) => typeText(schema, { descriptionLength: 0, constraints, depth: 3 }));
  return types.find(({ length }) => length <= SHORT_LENGTH) ?? "";
}

/** The fields of a plain object schema, with their types; undefined for any other schema. */
export function typedFields(schema: JsonSchema, options: TypeTextOptions): readonly Field[] | undefined {
  const others = schema.additionalProperties;
  const isPlain =
    isFields(schema.properties) &&
    ["$ref", "anyOf", "oneOf", "allOf", "enum", "const", "propertyNames", "patternProperties"].every(
      (word) => schema[word] === undefined,
    ) &&
    !(isFields(others) && Object.keys(others).length > 0);
  return isPlain ? new TypePrinter(schema, options).fields(schema, 0) : undefined;
}

/** A type. If an operator joins its parts, it needs brackets inside another type. */
interface Type {
  readonly text: string;
  readonly joinedBy?: "|" | "&";
}

/** References within each other that are followed. */
const FOLLOWED = 100;

class TypePrinter {
  readonly #root: JsonSchema;
  readonly #options: TypeTextOptions;
  readonly #notation: TypeNotation;
  readonly #following: string[] = [];
  #charactersLeft = CHARACTERS;

  constructor(root: JsonSchema, options: TypeTextOptions) {
    this.#root = root;
    this.#options = options;
    this.#notation = options.notation ?? TYPESCRIPT;
  }

  print(schema: unknown, depth: number): Type {
    this.#charactersLeft -= PART;
    if (schema === false) return { text: this.#notation.never };
    if (!isFields(schema) || this.#charactersLeft < 0) return { text: this.#notation.unknown };
    const type = this.#printFields(schema, depth);
    this.#charactersLeft -= type.text.length;
    return type;
  }

  #printFields(schema: JsonSchema, depth: number): Type {
    if (typeof schema.$ref === "string") return this.#follow(schema.$ref, depth);
    if ("const" in schema) return this.#enumeration([schema.const]);
    if (Array.isArray(schema.enum)) return this.#enumeration(schema.enum);
    return this.#join("&", [
      this.#printEach("|", schema.anyOf ?? schema.oneOf, depth),
      this.#printEach("&", schema.allOf, depth),
      this.#printTyped(schema, depth),
    ]);
  }

  #printEach(operator: "|" | "&", parts: unknown, depth: number): Type | undefined {
    if (!Array.isArray(parts)) return undefined;
    const types = parts.map((one) => this.print(one, depth));
    return this.#join(operator, types);
  }

  /** The type given by `type` and its keywords; undefined if they add nothing to `anyOf`, `oneOf` or `allOf`. */
  #printTyped(schema: JsonSchema, depth: number): Type | undefined {
    if (Array.isArray(schema.type)) {
      const types = schema.type.slice(0, TYPES).map((type) => this.#printType(type, schema, depth));
      return this.#join("|", types);
    }
    const isJoined = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    const addsType =
      isJoined === undefined || isFields(schema.properties) || (schema.type !== undefined && schema.type !== "object");
    return addsType ? this.#printType(schema.type, schema, depth) : undefined;
  }

  #printType(type: unknown, schema: JsonSchema, depth: number): Type {
    switch (type) {
      case "string":
      case "number":
      case "boolean":
      case "null":
      case "integer":
        return { text: this.#notation[type] };
      case "array":
        return this.#printArray(schema, depth);
      case "object":
        return this.#printObject(schema, depth);
      default:
        return isFields(schema.properties) ? this.#printObject(schema, depth) : { text: this.#notation.unknown };
    }
  }

  #printArray(schema: JsonSchema, depth: number): Type {
    if (depth >= this.#options.depth) return { text: this.#notation.deepArray };
    const { prefixItems, items } = schema;
    if (Array.isArray(prefixItems)) {
      const rest = isFields(items) ? bracketed(this.print(items, depth + 1)) : undefined;
      const elements = prefixItems.map((item) => this.print(item, depth + 1).text);
      return { text: this.#notation.tupleOf(elements, rest) };
    }
    const element = this.print(items, depth);
    return { text: this.#notation.arrayOf(this.#notation.bracketsInArrays ? bracketed(element) : element.text) };
  }

  #printObject(schema: JsonSchema, depth: number): Type {
    if (depth >= this.#options.depth) return { text: this.#notation.deepObject };
    const fields = this.fields(schema, depth);
    const others = schema.additionalProperties;
    const keys =
      isFields(schema.propertyNames) && Array.isArray(schema.propertyNames.enum)
        ? schema.propertyNames.enum
        : undefined;
    const isRecord = isFields(others)
      ? fields.length === 0 || Object.keys(others).length > 0
      : keys && others !== false;
    const values = [
      ...(isFields(schema.patternProperties) ? Object.values(schema.patternProperties) : []),
      ...(isRecord ? [others] : []),
    ];
    const record = values.length > 0 ? this.#record(values, keys, schema.required, depth) : undefined;
    const object = fields.length > 0 ? { text: this.#notation.fields(fields) } : undefined;
    if (record || object) return this.#join("&", [object, record]);
    const { emptyObject, anyObject } = this.#notation;
    return { text: others === false || isFields(schema.properties) ? emptyObject : anyObject };
  }

  #record(values: readonly unknown[], keys: readonly unknown[] | undefined, required: unknown, depth: number): Type {
    const types = values.map((one) => this.print(one, depth + 1));
    const names = this.#namesIn(required);
    const isWhole = keys?.every((key) => names.has(key));
    return {
      text: this.#notation.recordOf(this.#join("|", types).text, keys && this.#enumeration(keys).text, isWhole),
    };
  }

  /** The type of the root, with what it demands beyond that. Its description is the tool's. */
  whole(): string {
    const { text } = this.print(this.#root, 0);
    return text + this.#commentOf([this.#constraints(this.#root)]);
  }

  fields(schema: JsonSchema, depth: number): readonly Field[] {
    const properties = isFields(schema.properties) ? Object.entries(schema.properties) : [];
    const required = this.#namesIn(schema.required);
    return properties.map(([name, property]) => {
      const shown = /^[A-Za-z_$][\w$]{0,255}$/.test(name) ? name : commentLine(name, ODD_NAME_LENGTH);
      const type = this.print(property, depth + 1).text;
      const comment = this.#charactersLeft < 0 ? "" : this.#comment(property);
      this.#charactersLeft -= shown.length + comment.length;
      return { name: shown, type, required: required.has(name), comment };
    });
  }

  #namesIn(required: unknown): ReadonlySet<unknown> {
    const names: readonly unknown[] = Array.isArray(required) ? required : [];
    this.#charactersLeft -= PART * names.length;
    return new Set(names);
  }

  #comment(property: unknown): string {
    const { descriptionLength } = this.#options;
    if (!isFields(property)) return "";
    const { description } = property;
    const about =
      descriptionLength > 0 && typeof description === "string" ? commentLine(description, descriptionLength) : "";
    return this.#commentOf([this.#constraints(property), about]);
  }

  #constraints(schema: JsonSchema): string {
    const { constraints = false } = this.#options;
    return constraints ? constraintText(this.#root, schema, this.#notation.integer === this.#notation.number) : "";
  }

  #commentOf(parts: readonly string[]): string {
    const texts = parts.filter((part) => part !== "");
    return texts.length === 0 ? "" : ` /* ${texts.join("; ").replaceAll("*/", "* /")} */`;
  }

  #follow(reference: string, depth: number): Type {
    const isTooDeep = this.#following.length === FOLLOWED || this.#following.includes(reference);
    if (isTooDeep) return { text: this.#notation.unknown };
    this.#following.push(reference);
    const type = this.print(resolveReference(this.#root, reference), depth);
    this.#following.pop();
    return type;
  }

  #enumeration(values: readonly unknown[]): Type {
    if (values.length === 0) return { text: this.#notation.never };
    const shown = values.slice(0, LITERALS_SHOWN);
    const types = shown.every(isShort)
      ? this.#notation.literals(shown, literal, values.length - shown.length).map((text) => ({ text }))
      : shown.map((value) => this.#typeOfLarge(value));
    return this.#join("|", types);
  }

  /** The type of a value in an enumeration with a value that is too long to be written. */
  #typeOfLarge(value: unknown): Type {
    if (Array.isArray(value)) return { text: this.#notation.deepArray };
    return isFields(value) ? { text: this.#notation.deepObject } : this.#enumeration([value]);
  }

  #join(operator: "|" | "&", operands: readonly (Type | undefined)[]): Type {
    const types = operands.filter((type) => type !== undefined);
    // `unknown & T` is `T`.
    const kept = operator === "|" ? types : types.filter(({ text }) => text !== this.#notation.unknown);
    return operator === "&" && kept.length === 0 ? { text: this.#notation.unknown } : join(kept, operator);
  }
}

function join(types: readonly Type[], operator: "|" | "&"): Type {
  const different = [...new Map(types.map((type) => [type.text, type])).values()];
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

/** Maximum characters of a literal that is no string. A part of such a literal would not parse. */
const LITERAL_LENGTH = 200;

function isShort(value: unknown): boolean {
  return typeof value !== "object" || (jsonHead(value, LITERAL_LENGTH) ?? "").length <= LITERAL_LENGTH;
}

function literal(value: unknown): string {
  return typeof value === "string"
    ? JSON.stringify(commentLine(value, 64))
    : commentLine(JSON.stringify(value) ?? "unknown", 2 * LITERAL_LENGTH);
}
