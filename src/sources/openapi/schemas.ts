import { hash } from "node:crypto";
import {
  currentPart,
  IN_PLACE,
  type JsonSchema,
  leadsToLoop,
  MAX_STATES,
  PatternStates,
  readPattern,
} from "../../tools/json-schema/index.ts";
import { lazySchema, type Schema, SOURCE_STATES } from "../../tools/schema.ts";
import {
  follow,
  isMarked,
  NAME_LENGTH,
  type OpenApiDocument,
  orFault,
  PartFault,
  quoted,
  remembered,
  shortName,
  target,
} from "./document.ts";
import { describe, fieldOf, type Fields, isFields, textOf } from "../../base/index.ts";

/** Whether a schema describes what is sent or what comes back. */
export type Side = "input" | "output";

const MAX_OWN_VALUES = 20_000;
/** Values of a tool's schema. Definitions beyond them may be anything; the nearest definitions come first. */
const MAX_VALUES = 5000;

/** A schema of the document as JSON Schema 2020-12, frozen. Its references lead to `$defs`. */
export interface ConvertedSchema {
  readonly schema: JsonSchema | boolean;
  readonly values: number;
  readonly states: number;
  /** Pointers to the definitions that the schema refers to; `inPlace` has the definitions that speak about the same value. */
  readonly references: readonly string[];
  readonly inPlace: readonly string[];
  /** Stands for what decides which definitions a tool's schema reaches. */
  readonly key: string;
}

const ANYTHING: ConvertedSchema = Object.freeze({
  schema: true,
  values: 1,
  states: 0,
  references: [],
  inPlace: [],
  key: "",
});

/** What a schema says about the shape of a value. Of a result's schema nothing else is kept. */
const SHAPE = new Set(["description", "type", "enum", "const"]);
/** What an input's schema says besides patterns and other schemas. */
const BOUNDS = new Set([
  ...SHAPE,
  ..."default format multipleOf maximum minimum exclusiveMaximum exclusiveMinimum maxLength minLength".split(" "),
  ..."contentEncoding contentMediaType maxItems minItems uniqueItems maxProperties minProperties".split(" "),
  ..."minContains maxContains".split(" "),
]);

const SCHEMA_WORDS: Readonly<Record<Side, ReadonlySet<string>>> = {
  input: new Set([
    ..."not if then else items additionalProperties unevaluatedProperties".split(" "),
    ..."unevaluatedItems contains propertyNames".split(" "),
  ]),
  output: new Set(["items", "additionalProperties"]),
};

/** The schemas of a document for a side, each converted once. */
export class Schemas {
  readonly document: OpenApiDocument;
  readonly side: Side;
  readonly #converted = new Map<unknown, ConvertedSchema | PartFault>();
  readonly #definitions = new Map<string, ConvertedSchema | PartFault>();
  readonly #digests = new Map<string, string>();
  readonly #patterns = new Map<string, number | undefined>();
  readonly #states = new PatternStates(SOURCE_STATES);
  readonly #unchecked = new Set<string>();
  readonly #odd: string[] = [];
  /** Number of the tools whose definitions are left out beyond `MAX_VALUES`. */
  #cut = 0;
  /** Definitions that were searched for circles, and whether each leads to a circle. */
  readonly #searched = new Map<string, boolean>();
  /** Whether definitions are left out beyond `MAX_VALUES`, by the parts: those that many tools share are walked once. */
  readonly #cuts = new Map<string, boolean | PartFault>();

  constructor(document: OpenApiDocument, side: Side) {
    this.document = document;
    this.side = side;
  }

  /** A schema of the document. Throws a `PartFault` if it cannot be read. */
  convert(schema: unknown): ConvertedSchema {
    return remembered(this.#converted, isFields(schema) ? schema : {}, () => {
      const result = orFault(() => new Conversion(this).convert(schema));
      return result instanceof PartFault && this.side === "output" ? this.#anything(result) : result;
    });
  }

  /** What a part of an answer leads to. Undefined if it leads nowhere. */
  followed(part: unknown): unknown {
    const led = orFault(() => follow(this.document, part));
    if (!(led instanceof PartFault)) return led;
    this.addOdd(led);
    return undefined;
  }

  addOdd({ message }: PartFault): void {
    this.#odd.push(`a part of its ${this.#what} may be anything, because ${message}`);
  }

  /** What was not checked since this was last asked, and why. */
  takeOdd(): readonly string[] {
    return this.#odd.splice(0);
  }

  get #what(): string {
    return this.side === "input" ? "input" : "result";
  }

  /** What is not checked of all operations that were read, and why. */
  get unchecked(): readonly string[] {
    const what = `what a tool's ${this.#what} has beyond ${MAX_VALUES} values of its schema may be anything`;
    return [...this.#unchecked, ...(this.#cut === 0 ? [] : [`${what} (tools: ${this.#cut})`])];
  }

  #anything(fault: PartFault): ConvertedSchema {
    this.addOdd(fault);
    return ANYTHING;
  }

  /**
   * A tool's schema, made of these parts of the document. Throws a `PartFault` if a definition that they refer to
   * cannot be used. Definitions are put in only when the tool is called or shown.
   */
  close(root: JsonSchema, parts: readonly ConvertedSchema[], checks = true): Schema {
    const key = hash("sha256", parts.map((part) => part.key).join());
    if (remembered(this.#cuts, key, () => this.#reach(parts).isCut)) this.#cut += 1;
    if (parts.every(({ references }) => references.length === 0)) return lazySchema(() => root, { checks });
    return lazySchema(() => ({ ...root, $defs: this.#definitionsOf(parts) }), {
      checks,
      identify: () => {
        const reached = this.#reach(parts).included.map((pointer) => [pointer, this.#digestOf(pointer)]);
        return JSON.stringify([root, reached]);
      },
    });
  }

  #definitionsOf(parts: readonly ConvertedSchema[]): Readonly<Record<string, JsonSchema | boolean>> {
    const { included } = this.#reach(parts);
    const definitions = included.map((pointer) => this.#definition(pointer));
    const beyond = new Set([...parts, ...definitions].flatMap(({ references }) => references));
    for (const pointer of included) beyond.delete(pointer);
    return Object.fromEntries([
      ...definitions.map(({ schema }, index) => [nameOf(included[index]!), schema] as const),
      ...[...beyond].map((pointer) => [nameOf(pointer), true] as const),
    ]);
  }

  /** The nearest definitions that can be checked, as many as fit. */
  #reach(parts: readonly ConvertedSchema[]): { readonly included: readonly string[]; readonly isCut: boolean } {
    const included: string[] = [];
    const met = new Set(parts.flatMap(({ references }) => references));
    let values = parts.reduce((sum, part) => sum + part.values, 0);
    let states = parts.reduce((sum, part) => sum + part.states, 0);
    if (states > MAX_STATES)
      this.#unchecked.add("an operation's own patterns are too large together, and the last are left out");
    for (const pointer of met) {
      if (values >= MAX_VALUES) return { included, isCut: true };
      const definition = this.#definition(pointer);
      const unfit = this.#unfit(pointer, states + definition.states);
      if (unfit !== undefined) {
        this.#unchecked.add(`${nameOf(pointer)} ${unfit}`);
        continue;
      }
      values += definition.values;
      states += definition.states;
      included.push(pointer);
      // A loop over a set also reaches what is added meanwhile.
      for (const next of definition.references) met.add(next);
    }
    return { included, isCut: false };
  }

  /** Why a definition cannot be checked, so that it may be anything. */
  #unfit(pointer: string, states: number): string | undefined {
    if (states > MAX_STATES) return "has patterns that are too large, together with others of an operation";
    // Checking a value would never end.
    return leadsToLoop(pointer, (one) => this.#definition(one).inPlace, this.#searched)
      ? "refers to itself without going deeper into the value"
      : undefined;
  }

  #definition(pointer: string): ConvertedSchema {
    return remembered(this.#definitions, pointer, () => {
      const found = orFault(() => this.document.once(pointer, target));
      if (!(found instanceof PartFault)) return this.convert(found);
      // What an input lacks for want of another file, its server would miss.
      if (this.side === "input" && !pointer.startsWith("#")) throw found;
      return this.#anything(found);
    });
  }

  /** Definitions of large documents are in hundreds of schemas, and each is read once for all. */
  #digestOf(pointer: string): string {
    const { schema } = this.#definition(pointer);
    return remembered(this.#digests, pointer, () => hash("sha256", JSON.stringify(schema)));
  }

  /** States of a pattern; undefined if it cannot be matched in linear time, and is not checked. */
  statesOf(source: string): number | undefined {
    return remembered(this.#patterns, hash("sha256", source), () => this.#readStates(source));
  }

  #readStates(source: string): number | undefined {
    const read = readPattern(source);
    const unfit = typeof read === "string" ? read : this.#states.take(read.states);
    if (typeof read === "object" && unfit === undefined) return read.states;
    this.#unchecked.add(`the pattern ${quoted(source)} ${unfit}`);
    return undefined;
  }
}

/** Name of a definition. It follows from the pointer alone, so that a tool's digest does not depend on other tools. */
function nameOf(pointer: string): string {
  const plain = pointer.replace(/^#\/components\/schemas\//, "");
  if (/^[\w.-]{1,100}$/.test(plain)) return plain;
  return `${plain.replaceAll(/[^\w.-]/g, "_").slice(-100)}@${hash("sha256", pointer).slice(0, 16)}`;
}

class Conversion {
  readonly #schemas: Schemas;
  readonly #references = new Set<string>();
  readonly #inPlace = new Set<string>();
  #values = 0;
  #states = 0;

  constructor(schemas: Schemas) {
    this.#schemas = schemas;
  }

  convert(schema: unknown): ConvertedSchema {
    const result = this.#schema(schema, true);
    const own = { values: this.#values, states: this.#states, references: [...this.#references] };
    const key = hash("sha256", JSON.stringify(own));
    return { schema: result, ...own, inPlace: [...this.#inPlace], key };
  }

  /** What only describes a result may be odd: that part is unknown then. */
  #schema(schema: unknown, inPlace: boolean): JsonSchema | boolean {
    this.#count(1);
    if (this.#schemas.side === "input") return this.#readSchema(schema, inPlace);
    const read = orFault(() => this.#readSchema(schema, inPlace));
    if (!(read instanceof PartFault)) return read;
    if (this.#values > MAX_OWN_VALUES) throw read;
    this.#schemas.addOdd(read);
    return true;
  }

  #readSchema(schema: unknown, inPlace: boolean): JsonSchema | boolean {
    if (typeof schema === "boolean") return schema;
    if (!isFields(schema)) {
      const shown = Array.isArray(schema) ? "a list" : (JSON.stringify(schema)?.slice(0, 100) ?? "nothing");
      throw new PartFault(`its schema holds ${shown} where a schema belongs`);
    }
    const words = new Map<string, unknown>();
    const reference = fieldOf(schema, "$ref");
    if (typeof reference === "string") words.set("$ref", this.#reference(reference, inPlace));
    // In 3.0 a reference stands alone.
    if (reference === undefined || !this.#schemas.document.hasOldSchemas) this.#copyWords(schema, words, inPlace);
    // Documents of other versions say it in the words of 3.0 too.
    const isNullable = fieldOf(schema, "nullable") === true || fieldOf(schema, "x-nullable") === true;
    return isNullable ? nullable(words) : frozen(words);
  }

  #reference(reference: string, inPlace: boolean): string {
    this.#references.add(shortName(reference));
    if (inPlace) this.#inPlace.add(reference);
    return `#/$defs/${nameOf(reference)}`;
  }

  #copyWords(schema: Fields, words: Map<string, unknown>, inPlace: boolean): void {
    const kept = this.#schemas.side === "input" ? BOUNDS : SHAPE;
    for (const [word, value] of Object.entries(currentPart(schema))) {
      if (kept.has(word)) this.#copyValue(word, value, words);
      else if (SCHEMA_WORDS[this.#schemas.side].has(word)) this.#copySchema(word, value, words, inPlace);
      else if (word === "allOf") addAll(words, this.#list(word, value, inPlace));
      else if (word === "prefixItems") words.set(word, this.#list(word, value, false));
      else if (word === "anyOf" || word === "oneOf") this.#copyChoice(word, schema, words, inPlace);
      else if (word === "properties") words.set(word, this.#map(word, this.#visible(value), false));
      else if (word === "required") words.set(word, this.#required(value, fieldOf(schema, "properties")));
      else if (word === "$recursiveRef" || word === "$dynamicRef")
        this.#schemas.addOdd(new PartFault(`its ${word} is a reference that is not followed`));
      else if (this.#schemas.side === "input") this.#copyOfInput(word, value, words, inPlace);
    }
  }

  #copyValue(word: string, value: unknown, words: Map<string, unknown>): void {
    if (word === "description" && typeof value !== "string") return;
    if (word === "enum" && !Array.isArray(value)) throw new PartFault(`its schema has an "enum" that is no list`);
    if (word === "type" && !isType(value)) throw new PartFault(`its schema has an unknown "type": ${describe(value)}`);
    if (Array.isArray(value)) this.#count(value.length);
    words.set(word, word === "type" && value === "file" ? "string" : value);
  }

  #copySchema(word: string, value: unknown, words: Map<string, unknown>, inPlace: boolean): void {
    // A server may send more than its document says.
    if (this.#schemas.side === "output" && value === false) return;
    words.set(word, this.#schema(value, inPlace && IN_PLACE.has(word)));
  }

  /** Alternatives of real documents overlap, and servers take what fits several: each choice is an `anyOf`. */
  #copyChoice(word: string, schema: Fields, words: Map<string, unknown>, inPlace: boolean): void {
    const tag = this.#schemas.side === "input" ? valuesOf(schema.discriminator) : undefined;
    const choice = this.#list(word, schema[word], inPlace).map((one, index) => {
      const values = tag?.by.get(fieldOf((schema[word] as readonly unknown[])[index], "$ref"));
      if (!tag || !values) return one;
      this.#count(values.length);
      return Object.freeze({ allOf: [one, { properties: { [tag.name]: { enum: values.map(([value]) => value) } } }] });
    });
    if (choice.length === 0) return;
    if (!words.has("anyOf")) words.set("anyOf", choice);
    else addAll(words, [{ anyOf: choice }]);
  }

  #copyOfInput(word: string, value: unknown, words: Map<string, unknown>, inPlace: boolean): void {
    if (word === "pattern") {
      if (typeof value !== "string") throw new PartFault(`its schema has a "pattern" that is no text`);
      const states = this.#schemas.statesOf(value);
      if (states === undefined) return;
      this.#states += states;
      words.set(word, value);
    } else if (word === "patternProperties") {
      for (const source of Object.keys(isFields(value) ? value : {}))
        this.#states += this.#schemas.statesOf(source) ?? 0;
      words.set(word, this.#map(word, value, false));
    } else if (word === "dependentSchemas") words.set(word, this.#map(word, value, inPlace));
    else if (word === "dependentRequired") {
      const lists = isFields(value) ? Object.entries(value) : [];
      words.set(word, Object.fromEntries(lists.map(([name, names]) => [name, this.#names(names)])));
    }
  }

  #list(word: string, value: unknown, inPlace: boolean): readonly (JsonSchema | boolean)[] {
    if (!Array.isArray(value)) throw new PartFault(`its schema has ${JSON.stringify(word)} that is no list`);
    return value.map((one) => this.#schema(one, inPlace));
  }

  #map(word: string, value: unknown, inPlace: boolean): Readonly<Record<string, JsonSchema | boolean>> {
    if (!isFields(value)) throw new PartFault(`its schema has ${JSON.stringify(word)} that is no object`);
    // Unlike an assignment, this makes a field of any name, `__proto__` too.
    return Object.freeze(
      Object.fromEntries(Object.entries(value).map(([name, one]) => [shortName(name), this.#schema(one, inPlace)])),
    );
  }

  /** The properties that this side has: what is only read is not sent, and what is only written does not come back. */
  #visible(written: unknown): unknown {
    // Bundlers take a reference in place of the whole map too, which no version of the standard knows.
    const properties = follow(this.#schemas.document, written);
    if (!isFields(properties)) return properties;
    return Object.fromEntries(Object.entries(properties).filter(([, property]) => !this.#isHidden(property)));
  }

  #isHidden(property: unknown): boolean {
    const word = this.#schemas.side === "input" ? "readOnly" : "writeOnly";
    return isMarked(this.#schemas.document, property, word);
  }

  #required(value: unknown, properties: unknown): readonly string[] {
    return this.#names(value).filter((name) => !this.#isHidden(fieldOf(properties, name)));
  }

  #names(value: unknown): readonly string[] {
    // In 3.0 and before, some documents say `required: true` of a property.
    const names = Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
    this.#count(names.length);
    return names.map(shortName);
  }

  #count(values: number): void {
    this.#values += values;
    if (this.#values > MAX_OWN_VALUES) throw new PartFault(`its schema holds more than ${MAX_OWN_VALUES} values`);
  }
}

const TYPES: ReadonlySet<unknown> = new Set("string number integer boolean object array null file".split(" "));

function isType(value: unknown): boolean {
  return Array.isArray(value) ? value.every((one) => TYPES.has(one)) : TYPES.has(value);
}

/** The values by which a document tells alternatives apart, by their references. What a server sends is not held to them. */
function valuesOf(discriminator: unknown) {
  const name = textOf(discriminator, "propertyName");
  const mapping = fieldOf(discriminator, "mapping");
  if (name === undefined || name.length > NAME_LENGTH || !isFields(mapping)) return undefined;
  const entries = Object.entries(mapping).filter(([, to]) => typeof to === "string" && to.length <= NAME_LENGTH);
  const by = Map.groupBy(entries as [string, string][], ([, to]): unknown =>
    /^[\w.-]+$/.test(to) ? `#/components/schemas/${to}` : to,
  );
  return { name, by };
}

function addAll(words: Map<string, unknown>, schemas: readonly unknown[]): void {
  words.set("allOf", [...((words.get("allOf") as readonly unknown[] | undefined) ?? []), ...schemas]);
}

/** What `nullable: true` of 3.0 means. Many documents leave null out of an `enum` beside it. */
function nullable(words: ReadonlyMap<string, unknown>): JsonSchema {
  const { type, enum: values } = frozen(words);
  if (typeof type === "string")
    return Object.freeze({
      ...frozen(words),
      type: [type, "null"],
      ...(Array.isArray(values) && !values.includes(null) && { enum: [...(values as unknown[]), null] }),
    });
  const { description, ...rest } = frozen(words);
  return Object.freeze({ ...(description !== undefined && { description }), anyOf: [rest, { type: "null" }] });
}

function frozen(words: ReadonlyMap<string, unknown>): JsonSchema {
  return Object.freeze(Object.fromEntries(words));
}
