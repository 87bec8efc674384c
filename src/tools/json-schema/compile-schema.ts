import { describe, PortcullisError } from "../../errors.ts";
import { type JsonSchema, resolveReference } from "../schema.ts";
import { LinearPattern } from "./linear-pattern.ts";
import { PatternRefused } from "./parse-pattern.ts";

/** Levels of nesting that a schema may have. */
const DEPTH = 250;
/** Values in a schema. Each of them may be looked at for each value that is checked. */
const MOST_VALUES = 100_000;

/** States of all patterns in a schema: of each some hundred bytes are held as long as the schema is. */
const MOST_STATES = 100_000;

/** Of the place in a message, in characters. */
const PATH_LENGTH = 300;

/** A schema whose parts have been read once: what is checked walks along these. */
export interface SchemaNode {
  readonly schema: JsonSchema | boolean;
  /** Whether more than one part leads here: then what came of a value is remembered. */
  shared: boolean;
  ref?: SchemaNode;
  readonly lists: Partial<Record<ListWord, readonly SchemaNode[]>>;
  readonly one: Partial<Record<OneWord, SchemaNode>>;
  readonly maps: Partial<Record<MapWord, readonly (readonly [string, SchemaNode])[]>>;
  /** Of `dependentRequired`, and of `dependencies` where they are lists. */
  dependentNames: readonly DependentNames[];
  pattern?: LinearPattern;
  /** Patterns of `patternProperties`, in their order. */
  patterns: readonly LinearPattern[];
  /** Values of `enum` that are no containers, and those that are. */
  enumeration?: { readonly scalars: ReadonlySet<unknown>; readonly containers: readonly unknown[] };
}

interface DependentNames {
  readonly word: "dependentRequired" | "dependencies";
  /** Where this field is, those are required. */
  readonly key: string;
  readonly names: readonly unknown[];
}

export interface CompiledSchema {
  readonly root: SchemaNode;
  /** Whether any part of it asks which fields and elements others have looked at. */
  readonly readsSeen: boolean;
}

type ListWord = "allOf" | "anyOf" | "oneOf" | "prefixItems" | "items";
type OneWord =
  | "not"
  | "if"
  | "then"
  | "else"
  | "propertyNames"
  | "additionalProperties"
  | "unevaluatedProperties"
  | "items"
  | "additionalItems"
  | "unevaluatedItems"
  | "contains";
type MapWord = "properties" | "patternProperties" | "dependentSchemas" | "dependencies";

const LISTS: readonly ListWord[] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const ONES: readonly OneWord[] = [
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
];
const MAPS: readonly MapWord[] = ["properties", "patternProperties", "dependentSchemas", "dependencies"];

/** Words whose schemas are for the same value, not for a part of it. */
const IN_PLACE_LISTS: readonly ListWord[] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE: readonly OneWord[] = ["not", "if", "then", "else"];
const IN_PLACE_MAPS: readonly MapWord[] = ["dependentSchemas", "dependencies"];

/** Throws where a schema is so large or so deep that reading it would already cost too much. Nothing else may have walked it. */
export function refuseLarge(schema: JsonSchema): void {
  const open: { readonly part: unknown; readonly depth: number }[] = [{ part: schema, depth: 1 }];
  let values = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { part, depth } = next;
    values += 1;
    if (typeof part !== "object" || part === null) continue;
    if (depth > DEPTH) throw refusal("", `is nested more than ${DEPTH} levels deep. Make it flatter, or use $defs`);
    const children = Object.values(part);
    if (values + open.length + children.length > MOST_VALUES)
      throw refusal("", `holds more than ${MOST_VALUES} values. Make it smaller`);
    for (const child of children) open.push({ part: child, depth: depth + 1 });
  }
}

/** Reads a schema for checking values. Throws a `PortcullisError` (`option_invalid`) with the place of what cannot be checked at bounded cost. */
export function compileSchema(schema: JsonSchema): CompiledSchema {
  const compiled = new Compiler(schema).compile();
  refuseLoops(compiled.root);
  return compiled;
}

class Compiler {
  readonly #root: JsonSchema;
  readonly #nodes = new Map<unknown, SchemaNode>();
  /** Of all patterns so far. */
  #states = 0;
  readonly #unread: { readonly node: SchemaNode; readonly path: string }[] = [];

  constructor(root: JsonSchema) {
    this.#root = root;
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
    if (typeof schema !== "boolean" && (typeof schema !== "object" || schema === null || Array.isArray(schema)))
      throw refusal(path, `is not a schema but ${describe(schema)}. Write an object, true or false`);
    const known = this.#nodes.get(schema);
    if (known) {
      known.shared = typeof schema === "object";
      return known;
    }
    const node: SchemaNode = {
      schema: schema as JsonSchema,
      shared: false,
      lists: {},
      one: {},
      maps: {},
      patterns: [],
      dependentNames: [],
    };
    this.#nodes.set(schema, node);
    if (typeof schema === "object") this.#unread.push({ node, path });
    return node;
  }

  #read(node: SchemaNode, path: string): void {
    const schema = node.schema as JsonSchema;
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
      if (typeof map !== "object" || map === null || Array.isArray(map))
        throw refusal(`${path}/${word}`, `is ${describe(map)}. Write an object of schemas`);
      node.maps[word] = Object.entries(map)
        // Those that are lists name fields.
        .filter(([, one]) => !(word === "dependencies" && Array.isArray(one)))
        .map(([name, one]) => [name, this.#nodeOf(one, `${path}/${word}/${pointerPart(name)}`)] as const);
    }
    if (schema.pattern !== undefined) node.pattern = this.#patternOf(schema.pattern, `${path}/pattern`);
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

  #patternOf(source: unknown, path: string): LinearPattern {
    if (typeof source !== "string")
      throw refusal(path, `is ${describe(source)}. Write a regular expression as a string`);
    try {
      const pattern = new LinearPattern(source, MOST_STATES - this.#states);
      this.#states += pattern.states;
      return pattern;
    } catch (error) {
      if (!(error instanceof PatternRefused)) throw error;
      throw refusal(path, `${error.message}. Write it in another way, or check that in the tool's handler`);
    }
  }

  #referenceOf(reference: unknown, path: string): SchemaNode {
    if (typeof reference !== "string")
      throw refusal(`${path}/$ref`, `is ${describe(reference)}. Write a string, like "#/$defs/name"`);
    return this.#nodeOf(resolveReference(this.#root, reference), `${path}/$ref (${reference})`);
  }
}

/** Words that are gone through for each value: what is no list there would make every check fail. */
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

/** A part that leads back to itself for the same value would be checked for ever. */
function refuseLoops(root: SchemaNode): void {
  const finished = new Set<SchemaNode>();
  const under = new Set<SchemaNode>();
  const starts: SchemaNode[] = [root];
  const started = new Set<SchemaNode>(starts);
  for (let start = starts.pop(); start !== undefined; start = starts.pop()) {
    const open: { readonly node: SchemaNode; readonly leaves: boolean }[] = [{ node: start, leaves: false }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { node, leaves } = next;
      if (leaves) {
        under.delete(node);
        finished.add(node);
        continue;
      }
      if (finished.has(node)) continue;
      if (under.has(node))
        throw refusal(
          "",
          "refers to itself without going deeper into the value. Make every cycle pass through a field or an element",
        );
      under.add(node);
      open.push({ node, leaves: true });
      for (const child of inPlaceOf(node)) open.push({ node: child, leaves: false });
      for (const child of childrenOf(node)) {
        if (started.has(child)) continue;
        started.add(child);
        starts.push(child);
      }
    }
  }
}

function inPlaceOf({ ref, lists, one, maps }: SchemaNode): readonly SchemaNode[] {
  return [
    ...(ref ? [ref] : []),
    ...IN_PLACE_LISTS.flatMap((word) => lists[word] ?? []),
    ...IN_PLACE.flatMap((word) => one[word] ?? []),
    ...IN_PLACE_MAPS.flatMap((word) => (maps[word] ?? []).map(([, node]) => node)),
  ];
}

function childrenOf({ lists, one, maps }: SchemaNode): readonly SchemaNode[] {
  return [
    ...Object.values(lists).flat(),
    ...Object.values(one),
    ...Object.values(maps).flatMap((map) => map.map(([, node]) => node)),
  ];
}

function isContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function pointerPart(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function refusal(path: string, what: string): PortcullisError {
  const place = path.length > PATH_LENGTH ? `…${path.slice(-PATH_LENGTH)}` : path;
  return new PortcullisError("option_invalid", `jsonSchema(schema): ${path === "" ? "the schema" : place} ${what}.`);
}
