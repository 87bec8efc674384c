import { describe, PortcullisError } from "../../errors.ts";
import { isFields } from "../../values/fields.ts";
import { exceededBy } from "../../values/size-fault.ts";
import { type JsonSchema, resolveReference } from "./json-schema.ts";
import { isContainer } from "./identities.ts";
import { LinearPattern } from "./patterns/linear-pattern.ts";
import { PatternRefused } from "./patterns/parse-pattern.ts";

/** Maximum depth of a schema. */
const MAX_DEPTH = 250;
/** Maximum values in a schema. Each may be read for each value that is checked. */
const MAX_VALUES = 100_000;

/** Maximum states of all patterns in a schema. Each takes some hundred bytes while the schema is held. */
const MAX_STATES = 100_000;

/** Maximum length of the path in a message, in characters. */
const PATH_LENGTH = 300;

/** A schema part that was read and checked. Validation walks these nodes. */
export interface SchemaNode {
  readonly schema: JsonSchema | boolean;
  /** Whether several parts refer to this node. If so, its outcomes are cached per value. */
  shared: boolean;
  ref?: SchemaNode;
  readonly lists: Partial<Record<ListWord, readonly SchemaNode[]>>;
  readonly one: Partial<Record<OneWord, SchemaNode>>;
  readonly maps: Partial<Record<MapWord, readonly (readonly [string, SchemaNode])[]>>;
  /** Whether it has parts that apply to the same value, beside `ref`. Most have none, and a check of a value asks each. */
  hasInPlace: boolean;
  /** Whether it says more of an object than `properties`, `required` and `additionalProperties`. */
  saysMoreOfObjects: boolean;
  /** From `dependentRequired`, and from the lists in `dependencies`. */
  dependentNames: readonly DependentNames[];
  pattern?: LinearPattern | undefined;
  /** Patterns of `patternProperties`, in their order. Undefined for a pattern that is not checked. */
  patterns: readonly (LinearPattern | undefined)[];
  /** Values of `enum`: scalars, and containers (arrays and objects). */
  enumeration?: { readonly scalars: ReadonlySet<unknown>; readonly containers: readonly unknown[] };
}

interface DependentNames {
  readonly word: "dependentRequired" | "dependencies";
  /** If this field is present, `names` are required. */
  readonly key: string;
  readonly names: readonly unknown[];
}

export interface CompiledSchema {
  readonly root: SchemaNode;
  /** Whether any part uses `unevaluatedProperties` or `unevaluatedItems`. */
  readonly readsSeen: boolean;
}

type PatternsRead = "all" | "for names";

/** Words whose value is a list of schemas, a schema, and an object of schemas. */
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems", "items"] as const;
const ONES = [
  "not",
  "if",
  "then",
  "else",
  "propertyNames",
  "additionalProperties",
  "unevaluatedProperties",
  "items",
  "additionalItems",
  "unevaluatedItems",
  "contains",
] as const;
const MAPS = ["properties", "patternProperties", "dependentSchemas", "dependencies"] as const;

type ListWord = (typeof LISTS)[number];
type OneWord = (typeof ONES)[number];
type MapWord = (typeof MAPS)[number];

/** Words whose schemas apply to the same value, not to a part of it. */
export const IN_PLACE: ReadonlySet<string> = new Set(
  "allOf anyOf oneOf not if then else dependentSchemas dependencies".split(" "),
);

const MORE_OF_OBJECTS = [
  "propertyNames",
  "minProperties",
  "maxProperties",
  "patternProperties",
  "unevaluatedProperties",
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
];

/** Throws if a schema is too large or too deep to be read. Must run before anything else walks the schema. */
export function refuseLarge(schema: JsonSchema): void {
  const exceeded = exceededBy(schema, { depth: MAX_DEPTH, values: MAX_VALUES });
  if (exceeded === "depth")
    throw refusal("", `is nested more than ${MAX_DEPTH} levels deep. Make it flatter, or use $defs`);
  if (exceeded === "values") throw refusal("", `holds more than ${MAX_VALUES} values. Make it smaller`);
}

/**
 * Compiles a schema for validation. Throws a `PortcullisError` (`option_invalid`) with the place of a part that cannot
 * be checked at bounded cost. `patterns: "for names"` is for schemas whose values another library checks: only names of
 * fields are matched, and a pattern that cannot be matched at bounded cost is undefined.
 */
export function compileSchema(schema: JsonSchema, patterns: PatternsRead = "all"): CompiledSchema {
  const compiled = new Compiler(schema, patterns).compile();
  refuseLoops(compiled.root);
  return compiled;
}

class Compiler {
  readonly #root: JsonSchema;
  readonly #nodes = new Map<unknown, SchemaNode>();
  /** States of all patterns so far. */
  #states = 0;
  readonly #unread: { readonly node: SchemaNode; readonly path: string }[] = [];

  readonly #patternsRead: PatternsRead;

  constructor(root: JsonSchema, patternsRead: PatternsRead) {
    this.#root = root;
    this.#patternsRead = patternsRead;
  }

  compile(): CompiledSchema {
    const root = this.#nodeOf(this.#root, "");
    for (let next = this.#unread.pop(); next !== undefined; next = this.#unread.pop()) this.#read(next.node, next.path);
    const readsSeen = [...this.#nodes.values()].some(
      ({ one }) => one.unevaluatedItems !== undefined || one.unevaluatedProperties !== undefined,
    );
    return { root, readsSeen };
  }

  #nodeOf(schema: unknown, path: string): SchemaNode {
    if (typeof schema !== "boolean" && !isFields(schema))
      throw refusal(path, `is not a schema but ${describe(schema)}. Write an object, true or false`);
    const known = this.#nodes.get(schema);
    if (known) {
      known.shared = typeof schema === "object";
      return known;
    }
    const node: SchemaNode = {
      schema,
      shared: false,
      lists: {},
      one: {},
      maps: {},
      hasInPlace: false,
      saysMoreOfObjects: false,
      patterns: [],
      dependentNames: [],
    };
    this.#nodes.set(schema, node);
    if (typeof schema === "object") this.#unread.push({ node, path });
    return node;
  }

  #read(node: SchemaNode, path: string): void {
    const schema = node.schema as JsonSchema;
    node.hasInPlace = [...IN_PLACE].some((word) => schema[word] !== undefined);
    node.saysMoreOfObjects = MORE_OF_OBJECTS.some((word) => schema[word] !== undefined);
    if (schema.$ref !== undefined) node.ref = this.#referenceOf(schema.$ref, path);
    for (const word of LISTS) {
      const list = schema[word];
      if (list === undefined || (word === "items" && !Array.isArray(list))) continue;
      if (!Array.isArray(list)) throw refusal(`${path}/${word}`, `is ${describe(list)}. Write a list of schemas`);
      node.lists[word] = list.map((one, index) => this.#nodeOf(one, `${path}/${word}/${index}`));
    }
    for (const word of ONES)
      if (schema[word] !== undefined && !(word === "items" && Array.isArray(schema[word])))
        node.one[word] = this.#nodeOf(schema[word], `${path}/${word}`);
    for (const word of MAPS) {
      const map = schema[word];
      if (map === undefined) continue;
      if (!isFields(map)) throw refusal(`${path}/${word}`, `is ${describe(map)}. Write an object of schemas`);
      node.maps[word] = Object.entries(map)
        // Lists in `dependencies` name fields; see `dependentNamesOf`.
        .filter(([, one]) => !(word === "dependencies" && Array.isArray(one)))
        .map(([name, one]) => [name, this.#nodeOf(one, `${path}/${word}/${pointerPart(name)}`)] as const);
    }
    if (schema.pattern !== undefined && this.#patternsRead === "all")
      node.pattern = this.#patternOf(schema.pattern, `${path}/pattern`);
    node.patterns = (node.maps.patternProperties ?? []).map(([source]) =>
      this.#patternOf(source, `${path}/patternProperties/${pointerPart(source)}`),
    );
    refuseNoLists(schema, path);
    node.dependentNames = dependentNamesOf(schema);
    if (Array.isArray(schema.enum))
      node.enumeration = {
        scalars: new Set(schema.enum.filter((value) => !isContainer(value))),
        containers: schema.enum.filter(isContainer),
      };
  }

  #patternOf(source: unknown, path: string): LinearPattern | undefined {
    if (typeof source !== "string")
      throw refusal(path, `is ${describe(source)}. Write a regular expression as a string`);
    try {
      const pattern = new LinearPattern(source, MAX_STATES - this.#states);
      this.#states += pattern.states;
      return pattern;
    } catch (error) {
      if (!(error instanceof PatternRefused)) throw error;
      if (this.#patternsRead === "for names") return undefined;
      throw refusal(path, `${error.message}. Write it in another way, or check that in the tool's handler`);
    }
  }

  #referenceOf(reference: unknown, path: string): SchemaNode {
    if (typeof reference !== "string")
      throw refusal(`${path}/$ref`, `is ${describe(reference)}. Write a string, like "#/$defs/name"`);
    return this.#nodeOf(resolveReference(this.#root, reference), `${path}/$ref (${reference})`);
  }
}

/** Refuses keywords that must be lists and are not: every check of a value would fail on them. */
function refuseNoLists(schema: JsonSchema, path: string): void {
  for (const word of ["required", "enum"])
    if (schema[word] !== undefined && !Array.isArray(schema[word]))
      throw refusal(`${path}/${word}`, `is ${describe(schema[word])}. Write a list`);
  for (const word of ["dependentRequired", "dependencies"])
    for (const [name, required] of Object.entries((schema[word] as JsonSchema | undefined) ?? {}))
      if (word === "dependentRequired" && !Array.isArray(required))
        throw refusal(`${path}/${word}/${pointerPart(name)}`, `is ${describe(required)}. Write a list of names`);
}

function dependentNamesOf(schema: JsonSchema): DependentNames[] {
  return (["dependentRequired", "dependencies"] as const).flatMap((word) =>
    Object.entries((schema[word] as JsonSchema | undefined) ?? {}).flatMap(([key, names]) =>
      Array.isArray(names) ? [{ word, key, names }] : [],
    ),
  );
}

/** Refuses a part that refers back to itself for the same value: checking it would never end. */
function refuseLoops(root: SchemaNode): void {
  const known = new Map<SchemaNode, boolean>();
  const started = new Set([root]);
  // A loop over a set also reaches what is added meanwhile.
  for (const start of started) {
    if (leadsToLoop(start, inPlaceOf, known))
      throw refusal(
        "",
        "refers to itself without going deeper into the value. Make every cycle pass through a field or an element",
      );
    for (const node of partsOf(start)) started.add(node);
  }
}

/** Whether a node leads back to itself, or to another one that does. `known` keeps the answers, and is asked first. */
export function leadsToLoop<Node>(
  start: Node,
  next: (node: Node) => Iterable<Node>,
  known: Map<Node, boolean>,
): boolean {
  const above = new Set<Node>();
  const open: { readonly node: Node; readonly leaves: boolean }[] = [{ node: start, leaves: false }];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    const { node, leaves } = step;
    if (leaves) {
      above.delete(node);
      known.set(node, false);
      continue;
    }
    if (known.get(node) === false) continue;
    if (above.has(node) || known.get(node) === true) {
      for (const one of above) known.set(one, true);
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
export function partsOf(node: SchemaNode): readonly SchemaNode[] {
  return childrenOf(node, () => true);
}

/** What a part refers to, and what it holds under the words that are meant. */
function childrenOf({ ref, lists, one, maps }: SchemaNode, isMeant: (word: string) => boolean): readonly SchemaNode[] {
  return [
    ...(ref ? [ref] : []),
    ...Object.entries(lists).flatMap(([word, list]) => (isMeant(word) ? list : [])),
    ...Object.entries(one).flatMap(([word, node]) => (isMeant(word) ? node : [])),
    ...Object.entries(maps).flatMap(([word, map]) => (isMeant(word) ? map.map(([, node]) => node) : [])),
  ];
}

function pointerPart(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function refusal(path: string, what: string): PortcullisError {
  const place = path.length > PATH_LENGTH ? `…${path.slice(-PATH_LENGTH)}` : path;
  return new PortcullisError("option_invalid", `jsonSchema(schema): ${path === "" ? "the schema" : place} ${what}.`);
}
