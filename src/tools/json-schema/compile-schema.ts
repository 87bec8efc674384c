import { describe, isAnyObject, isFields, isTexts, PortcullisError, sizeFault } from "../../base/index.ts";
import { BOUNDS, type JsonSchema, mapSchema, resolveReference, SCHEMA_MAPS } from "./json-schema.ts";
import { Scalars } from "./identities.ts";
import { type LinearPattern, readPattern } from "./patterns/linear-pattern.ts";

/** What a schema may hold, before anything else reads it. Each value may be read for each value that is checked. */
export interface SchemaSize {
  readonly values: number;
  /** Of its texts and names, in UTF-16 code units. */
  readonly characters: number;
}

/** Maximum depth of a schema. */
const MAX_DEPTH = 250;
/** The size of a schema of the host's own, or of one of its libraries. */
export const OWN_SIZE: SchemaSize = { values: 100_000, characters: 4 * 1024 * 1024 };

/** Maximum states of all patterns in a schema. */
export const MAX_STATES = 20_000;

/** Maximum parts of a schema that cannot be checked. */
const MAX_UNCHECKED = 100;

/**
 * Bytes that a part of a schema takes compiled, with what is remembered of it when inputs are read, a character of its
 * JSON, and a state of a pattern. Measured: a node has about 490 bytes, as all have all fields, and 260 more are remembered
 * of each alternative's part.
 */
const PART_BYTES = 750;
const CHARACTER_BYTES = 4;
const STATE_BYTES = 120;

/** Maximum length of the path in a message, in characters. */
const PATH_LENGTH = 300;

/** A schema part that was read and checked. Validation walks these nodes. */
export interface SchemaNode extends Parts {
  readonly schema: JsonSchema | boolean;
  /** Whether several parts refer to this node. If so, its outcomes are remembered per value. */
  shared: boolean;
  ref?: SchemaNode;
  required: readonly string[];
  /** Whether it has parts, or refers to one. Any other is checked again rather than that its outcomes are remembered. */
  hasParts: boolean;
  /** Of `dependentRequired`: a field, and those that are required beside it. */
  dependentNames: readonly (readonly [key: string, names: readonly string[]])[];
  pattern?: LinearPattern | undefined;
  /** Of `patternProperties`. Undefined for a pattern that is not checked. */
  patterns: readonly (readonly [pattern: LinearPattern | undefined, node: SchemaNode])[];
  /** Values of `enum`: scalars, and containers (arrays and objects). */
  enumeration?: { readonly scalars: Scalars; readonly containers: readonly unknown[] };
}

export interface CompiledSchema {
  readonly root: SchemaNode;
  /** Whether any part uses `unevaluatedProperties` or `unevaluatedItems`. */
  readonly readsSeen: boolean;
  /** Patterns that are not checked, because that has no bounded cost, and types that there are not: a sentence each. */
  readonly unchecked: readonly string[];
  /** States of all its patterns. */
  readonly states: number;
  /** Memory that it takes, estimated. */
  readonly bytes: number;
}

/** The states that the patterns of all schemas of one owner may have together: of a request, or of a source. */
export class PatternStates {
  readonly #most: number;
  #stateCount = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes the states of another schema. Returns why there is no room for them, as the predicate of a sentence. */
  take(states: number): string | undefined {
    this.#stateCount += states;
    if (this.#stateCount <= this.#most) return undefined;
    return `has more states in its patterns than are left: those before it and its own have more than ${this.#most} together`;
  }
}

/** Words whose value is a list of schemas, a schema, and an object of schemas. */
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"] as const;
const ONES = [
  "not",
  "if",
  "then",
  "else",
  "propertyNames",
  "additionalProperties",
  "unevaluatedProperties",
  "items",
  "unevaluatedItems",
  "contains",
] as const;
const MAPS = ["properties", "patternProperties", "dependentSchemas"] as const;

/** What a schema says by each of these words: parts, and numbers that bound a value or a count. */
interface Parts
  extends
    Partial<Record<(typeof LISTS)[number], readonly SchemaNode[]>>,
    Partial<Record<(typeof ONES)[number], SchemaNode>>,
    Partial<Record<(typeof MAPS)[number], ReadonlyMap<string, SchemaNode>>>,
    Partial<Record<BoundWord, number>> {}

export type BoundWord = (typeof BOUNDS)[number];

function isWord<Word extends string>(words: readonly Word[], word: string): word is Word {
  return (words as readonly string[]).includes(word);
}

/** All nodes have one shape: a look at their words is most of what a check does. */
const NOTHING: Parts = Object.fromEntries([...LISTS, ...ONES, ...MAPS, ...BOUNDS].map((word) => [word, undefined]));

/** Words whose schemas apply to the same value, not to a part of it. */
export const IN_PLACE: ReadonlySet<string> = new Set("allOf anyOf oneOf not if then else dependentSchemas".split(" "));

/** A part of another type fits every value. */
export const TYPES: ReadonlySet<unknown> = new Set("null boolean number integer string array object".split(" "));

/** Throws if a schema is too large or too deep to be read. Must run before anything else walks the schema. */
export function refuseLarge(schema: JsonSchema, { values, characters }: SchemaSize = OWN_SIZE): void {
  const fault = sizeFault(schema, { depth: MAX_DEPTH, values, characters });
  if (fault !== undefined) throw refusal("", fault);
}

/**
 * Compiles a schema in the words of `currentDraft` for validation. Throws a `PortcullisError` (`option_invalid`) with the place of a part that cannot
 * be checked at bounded cost, unless that part is a pattern.
 */
export function compileSchema(schema: JsonSchema): CompiledSchema {
  return new Compiler(schema).compile();
}

class Compiler {
  readonly #root: JsonSchema;
  readonly #nodes = new Map<unknown, SchemaNode>();
  readonly #unread: { readonly node: SchemaNode; readonly path: string; readonly hasOwnBase: boolean }[] = [];
  /** Whether a part above the one that is read has an `$id`, which its references begin at. */
  #hasOwnBase = false;
  readonly #unchecked: string[] = [];
  /** One for all places with the same text; undefined for one that is not checked. */
  readonly #patterns = new Map<string, LinearPattern | undefined>();
  /** Of all patterns so far. */
  #states = 0;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  compile(): CompiledSchema {
    const root = this.#nodeOf(this.#root, "");
    for (let next = this.#unread.pop(); next !== undefined; next = this.#unread.pop()) {
      this.#hasOwnBase = next.hasOwnBase;
      this.#read(next.node, next.path);
    }
    const nodes = [...this.#nodes.values()];
    refuseLoops(nodes);
    const readsSeen = nodes.some((node) => node.unevaluatedItems ?? node.unevaluatedProperties);
    const bytes =
      this.#nodes.size * PART_BYTES + this.#states * STATE_BYTES + JSON.stringify(this.#root).length * CHARACTER_BYTES;
    return { root, readsSeen, unchecked: this.#unchecked, states: this.#states, bytes };
  }

  #nodeOf(schema: unknown, path: string): SchemaNode {
    const hit = this.#nodes.get(schema);
    if (hit) {
      hit.shared = typeof schema === "object";
      return hit;
    }
    if (typeof schema !== "boolean" && !isFields(schema))
      throw refusal(path, `is not a schema but ${describe(schema)}. Write an object, true or false`);
    const node = { ...NOTHING, schema, shared: false, hasParts: false, required: [], patterns: [], dependentNames: [] };
    this.#nodes.set(schema, node);
    if (typeof schema === "object") this.#unread.push({ node, path, hasOwnBase: this.#hasOwnBase });
    return node;
  }

  #read(node: SchemaNode, path: string): void {
    const schema = node.schema as JsonSchema;
    const { $id } = schema;
    if (path !== "" && typeof $id === "string" && !$id.startsWith("#")) this.#hasOwnBase = true;
    if (this.#hasOwnBase && schema.$ref !== undefined)
      this.#leaveUnchecked(`${path}/$ref`, "is resolved from the root, and not from the `$id` above it");
    for (const word of Object.keys(schema)) {
      const value = schema[word];
      if (value === undefined) continue;
      if (word === "$ref") node.ref = this.#referenceOf(value, path);
      else if (isWord(LISTS, word)) node[word] = this.#listOf(value, `${path}/${word}`);
      else if (isWord(ONES, word)) node[word] = this.#nodeOf(value, `${path}/${word}`);
      else if (isWord(MAPS, word)) node[word] = this.#mapOf(value, `${path}/${word}`);
      else if (isWord(BOUNDS, word)) node[word] = this.#boundOf(value, `${path}/${word}`);
    }
    for (const word of DYNAMIC)
      if (schema[word] !== undefined) this.#leaveUnchecked(`${path}/${word}`, "is a reference that is not followed");
    const unread = [schema.type].flat().find((type) => type !== undefined && !TYPES.has(type));
    if (unread !== undefined) this.#leaveUnchecked(`${path}/type`, `is ${describe(unread)}, which is no type of JSON`);
    if (schema.pattern !== undefined) node.pattern = this.#patternOf(schema.pattern, `${path}/pattern`);
    node.patterns = [...(node.patternProperties ?? [])].map(([source, of]) => {
      return [this.#patternOf(source, `${path}/patternProperties/${pointerPart(source)}`), of];
    });
    node.hasParts = childNodes(node).length > 0;
    refuseNoLists(schema, path);
    node.required = (schema.required ?? []) as readonly string[];
    node.dependentNames = Object.entries((schema.dependentRequired ?? {}) as Readonly<Record<string, string[]>>);
    if (Array.isArray(schema.enum))
      node.enumeration = {
        scalars: new Scalars(schema.enum.filter((value) => !isAnyObject(value))),
        containers: schema.enum.filter(isAnyObject),
      };
  }

  #listOf(list: unknown, path: string): readonly SchemaNode[] {
    if (!Array.isArray(list)) throw refusal(path, `is ${describe(list)}. Write a list of schemas`);
    return list.map((one, index) => this.#nodeOf(one, `${path}/${index}`));
  }

  #mapOf(map: unknown, path: string): ReadonlyMap<string, SchemaNode> {
    if (!isFields(map)) throw refusal(path, `is ${describe(map)}. Write an object of schemas`);
    return new Map(Object.entries(map).map(([name, one]) => [name, this.#nodeOf(one, `${path}/${pointerPart(name)}`)]));
  }

  /** To compare with anything else would turn it into a text or a number anew for each value, at a cost that no step counts. */
  #boundOf(bound: unknown, path: string): number | undefined {
    if (typeof bound === "number") return bound;
    this.#leaveUnchecked(path, `is ${describe(bound)}, which is no number`);
    return undefined;
  }

  #patternOf(source: unknown, path: string): LinearPattern | undefined {
    if (typeof source !== "string")
      throw refusal(path, `is ${describe(source)}. Write a regular expression as a string`);
    if (this.#patterns.has(source)) return this.#patterns.get(source);
    const read = readPattern(source, MAX_STATES - this.#states);
    const pattern = typeof read === "string" ? undefined : read;
    this.#patterns.set(source, pattern);
    if (typeof read === "string") this.#leaveUnchecked(path, read);
    this.#states += pattern?.states ?? 0;
    return pattern;
  }

  #leaveUnchecked(path: string, why: string): void {
    this.#unchecked.push(placed(path, why));
    if (this.#unchecked.length > MAX_UNCHECKED)
      throw refusal("", `has more than ${MAX_UNCHECKED} parts that cannot be checked, the last ${why}`);
  }

  #referenceOf(reference: unknown, path: string): SchemaNode {
    if (typeof reference !== "string")
      throw refusal(`${path}/$ref`, `is ${describe(reference)}. Write a string, like "#/$defs/name"`);
    const part = resolveReference(this.#root, reference);
    if (part !== undefined) return this.#nodeOf(part, `${path}/$ref (${reference})`);
    throw new PortcullisError(
      "option_invalid",
      `jsonSchema(schema): $ref ${JSON.stringify(reference.slice(0, PATH_LENGTH))} does not resolve. References must stay within the schema, like #/$defs/name.`,
    );
  }
}

const DYNAMIC = ["$dynamicRef", "$recursiveRef"] as const;

/** Words that refuse values which fit a part, so that they say nothing where a part may be anything. */
const REFUSING: ReadonlySet<string> = new Set(
  "not if then else contains minContains maxContains unevaluatedProperties unevaluatedItems".split(" "),
);

/**
 * A schema without what would be refused in it: references that lead nowhere, and what is no schema, or no list, where one
 * belongs. Such a part may be anything, also of several alternatives.
 */
export function withoutFaults(root: JsonSchema): JsonSchema {
  const isOne = (value: unknown) => isFields(value) || typeof value === "boolean";
  const oneOf = (value: unknown) => (isOne(value) ? value : {});
  const leftOf = (word: string, value: unknown): unknown => {
    if (REFUSING.has(word)) return undefined;
    if (SCHEMA_MAPS.has(word))
      return isFields(value) && Object.fromEntries(Object.entries(value).map(([name, one]) => [name, oneOf(one)]));
    if (isWord(LISTS, word)) return Array.isArray(value) && value.map(oneOf);
    if (isWord(ONES, word)) return isOne(value) ? value : undefined;
    if (word === "required") return Array.isArray(value) && value.filter((name) => typeof name === "string");
    if (word === "dependentRequired") return isFields(value) && Object.values(value).every(isTexts) && value;
    if (word === "enum") return Array.isArray(value) && value;
    if (word === "$ref") return typeof value === "string" && resolveReference(root, value) !== undefined && value;
    return word === "pattern" && typeof value !== "string" ? undefined : value;
  };
  return mapSchema(root, (part) => {
    const { oneOf: alternatives, anyOf = alternatives, additionalProperties, items, ...others } = part;
    const { properties = {}, patternProperties = {}, prefixItems = [] } = part;
    const named = {
      ...others,
      anyOf,
      ...(isFields(properties) && isFields(patternProperties) && { additionalProperties }),
      ...(Array.isArray(prefixItems) && { items }),
    };
    const words = Object.entries(named).map(([word, value]) => [word, leftOf(word, value)] as const);
    return Object.fromEntries(
      words.filter(([word, value]) => value !== undefined && (value !== false || part[word] === false)),
    );
  }) as JsonSchema;
}

/** Refuses keywords that must be lists and are not: every check of a value would fail on them. */
function refuseNoLists(schema: JsonSchema, path: string): void {
  if (schema.enum !== undefined && !Array.isArray(schema.enum))
    throw refusal(`${path}/enum`, `is ${describe(schema.enum)}. Write a list`);
  if (schema.required !== undefined && !isTexts(schema.required))
    throw refusal(`${path}/required`, `is ${describe(schema.required)}. Write a list of names`);
  for (const [name, required] of Object.entries(schema.dependentRequired ?? {}))
    if (!isTexts(required))
      throw refusal(
        `${path}/dependentRequired/${pointerPart(name)}`,
        `is ${describe(required)}. Write a list of names`,
      );
}

/** Refuses a part that refers back to itself for the same value: checking it would never end. */
function refuseLoops(nodes: readonly SchemaNode[]): void {
  const answers = new Map<SchemaNode, boolean>();
  for (const node of nodes)
    if (leadsToLoop(node, inPlaceOf, answers))
      throw refusal(
        "",
        "refers to itself without going deeper into the value. Make every cycle pass through a field or an element",
      );
}

/** Whether a node leads back to itself, or to another one that does. `answers` keeps them, and is asked first. */
export function leadsToLoop<Node>(
  start: Node,
  next: (node: Node) => Iterable<Node>,
  answers: Map<Node, boolean>,
): boolean {
  const above = new Set<Node>();
  const open: { readonly node: Node; readonly leaves: boolean }[] = [{ node: start, leaves: false }];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    const { node, leaves } = step;
    if (leaves) {
      above.delete(node);
      answers.set(node, false);
      continue;
    }
    if (answers.get(node) === false) continue;
    if (above.has(node) || answers.get(node) === true) {
      for (const one of above) answers.set(one, true);
      return true;
    }
    above.add(node);
    open.push({ node, leaves: true });
    for (const child of next(node)) open.push({ node: child, leaves: false });
  }
  return false;
}

/** The parts that speak about the same value. */
export function inPlaceOf(node: SchemaNode): readonly SchemaNode[] {
  return childrenOf(node, (word) => IN_PLACE.has(word));
}

/** The parts that a part holds or refers to. */
export function childNodes(node: SchemaNode): readonly SchemaNode[] {
  return childrenOf(node, () => true);
}

/** What a part refers to, and what it holds under the words that are meant. */
function childrenOf(node: SchemaNode, isMeant: (word: string) => boolean): readonly SchemaNode[] {
  return [
    node.ref,
    ...LISTS.filter(isMeant).flatMap((word) => node[word] ?? []),
    ...ONES.filter(isMeant).map((word) => node[word]),
    ...MAPS.filter(isMeant).flatMap((word) => [...(node[word]?.values() ?? [])]),
  ].filter((part) => part !== undefined);
}

function pointerPart(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function refusal(path: string, what: string): PortcullisError {
  return new PortcullisError("option_invalid", `jsonSchema(schema): ${placed(path, what)}.`);
}

function placed(path: string, what: string): string {
  const place = path.length > PATH_LENGTH ? `…${path.slice(-PATH_LENGTH)}` : path;
  return `${place === "" ? "the schema" : place} ${what}`;
}
