import { isAnyObject, sumOf } from "../../base/index.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { CompiledSchema, SchemaNode } from "./compile-schema.ts";
import { Scalars } from "./identities.ts";
import { Steps, StepsSpent } from "./steps.ts";

/** Unknown fields that are described; the rest are counted. */
const FIELDS_LISTED = 5;
/** Maximum of names that are offered for the comparison with an unknown name, and their maximum length. */
const NAMES_OFFERED = 256;
const NAME_LENGTH = 64;
/** Steps for a part of a schema that applies to a value. */
const PART_STEPS = 3;

interface UnknownField {
  /** Keys from the root to the field. */
  readonly path: readonly (string | number)[];
  /** Names of fields that the schema knows in this place. */
  readonly names: readonly string[];
}

export interface FieldsRead {
  readonly unknown: readonly UnknownField[];
  /** Number of all unknown fields, listed or not. */
  readonly total: number;
  /** Whether a field that is null was removed. */
  readonly dropped: boolean;
}

interface Place {
  readonly key: string | number;
  readonly outer: Place | undefined;
}

/**
 * Reads the fields of an input by what its JSON Schema says about them, without checking values. Finds the fields that the
 * schema does not know and removes them from the value. Also removes a field that is null if the schema lets it be absent and
 * does not let it be null. Takes a step per field and applicable part of the schema. Throws `StepsSpent` if that exceeds
 * `maxSteps`, or if too many parts of the schema refer to each other.
 */
export function readInputFields(
  { root }: CompiledSchema,
  value: unknown,
  unknownFields: "refuse" | "allow",
  maxSteps: number,
): FieldsRead {
  const walk = new Walk(new Steps(maxSteps), unknownFields);
  walk.enter(value, [{ node: root, isSure: true }], undefined);
  return walk;
}

/** A part that may speak of a value. `isSure`: it does; others are alternatives and conditions, of which some may not apply. */
interface Speaker {
  readonly node: SchemaNode;
  readonly isSure: boolean;
}

/** What is known of a part that applies to a value. `lacks`: it, or what it holds for the same value, lacks a field that none knows. */
interface Applied extends Speaker {
  lacks: boolean;
}

type Parts = Map<SchemaNode, Applied>;

class Walk implements FieldsRead {
  readonly unknown: UnknownField[] = [];
  total = 0;
  dropped = false;
  readonly #steps: Steps;
  readonly #unknownFields: "refuse" | "allow";

  constructor(steps: Steps, unknownFields: "refuse" | "allow") {
    this.#steps = steps;
    this.#unknownFields = unknownFields;
  }

  /** Reads a value. A field is unknown if no part knows it, and one that is sure to speak of the value lacks it, or each does. */
  enter(value: unknown, speakers: readonly Speaker[], place: Place | undefined): void {
    if (!isAnyObject(value) || speakers.length === 0) return;
    const parts: Parts = new Map();
    const lacking = speakers.filter((speaker) => this.#expand(speaker, value, parts, 0));
    const lacksOthers = lacking.length === speakers.length || lacking.some(({ isSure }) => isSure);
    if (Array.isArray(value)) this.#enterArray(value, [...parts.values()], place);
    else this.#enterObject(value as Record<string, unknown>, [...parts.values()], lacksOthers, place);
  }

  /** Adds a part and the parts that apply to the same value. Returns whether an unknown field is one that they lack. */
  #expand({ node, isSure }: Speaker, value: object, parts: Parts, depth: number): boolean {
    this.#steps.spend(PART_STEPS);
    if (depth > MAX_DEPTH) throw new StepsSpent();
    if (typeof node.schema === "boolean") return false;
    const before = parts.get(node);
    if (before) return before.lacks;
    const part = { node, isSure, lacks: false };
    parts.set(node, part);
    const { ref, allOf = [], anyOf, oneOf, dependentSchemas = [] } = node;
    const below = (other: SchemaNode, isOtherSure = isSure) =>
      this.#expand({ node: other, isSure: isOtherSure }, value, parts, depth + 1);
    const maybe = (other: SchemaNode) => below(other, false);
    let lacks = isClosed(node);
    if (ref) lacks = below(ref) || lacks;
    for (const other of allOf) lacks = below(other) || lacks;
    for (const list of [anyOf, oneOf]) {
      const some = list && this.#applicable(list, value);
      const [only, ...others] = some ?? [];
      if (only && others.length === 0) lacks = below(only) || lacks;
      else if (some) lacks = some.filter(maybe).length === some.length || lacks;
    }
    // These parts may know fields. A field that they lack may still be known to others.
    for (const other of [node.if, node.then, node.else]) if (other) maybe(other);
    for (const [key, dependent] of dependentSchemas) {
      this.#steps.spend(1);
      if (Object.hasOwn(value, key)) maybe(dependent);
    }
    part.lacks = lacks;
    return lacks;
  }

  /** The alternatives that a value may fit by its type and its tags; all alternatives if it fits none. */
  #applicable(alternatives: readonly SchemaNode[], value: object): readonly SchemaNode[] {
    const applicable = alternatives.filter((one) => this.#mayFit(one, value));
    return applicable.length === 0 ? alternatives : applicable;
  }

  #mayFit(node: SchemaNode, value: object): boolean {
    this.#steps.spend(1);
    if (typeof node.schema === "boolean") return node.schema;
    if (!takesType(node.schema, Array.isArray(value) ? "array" : "object")) return false;
    const tags = tagsOf(node, this.#steps);
    this.#steps.spend(tags.size);
    for (const [key, values] of tags) {
      const tag = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
      if (tag !== undefined && !isAnyObject(tag) && !values.has(tag, this.#steps)) return false;
    }
    return true;
  }

  #enterObject(
    value: Record<string, unknown>,
    parts: readonly Speaker[],
    lacksOthers: boolean,
    place: Place | undefined,
  ): void {
    for (const key of Object.keys(value)) {
      const fields = parts.flatMap(({ node, isSure }) =>
        this.#fieldsAt(node, key).map((field) => ({ node: field, isSure })),
      );
      if (fields.length === 0) {
        if (!lacksOthers || this.#unknownFields === "allow") continue;
        this.#note(key, parts, place);
        delete value[key];
      } else if (value[key] !== null) this.enter(value[key], fields, { key, outer: place });
      else if (this.#mayBeAbsent(parts, key) && this.#refuseNull(fields, lacksOthers)) {
        delete value[key];
        this.dropped = true;
      }
    }
  }

  #enterArray(value: readonly unknown[], parts: readonly Speaker[], place: Place | undefined): void {
    const elementsAt = (index: number) => {
      this.#steps.spend(parts.length);
      return parts.flatMap(({ node: { prefixItems, items, unevaluatedItems }, isSure }) => {
        const node = prefixItems?.[index] ?? items ?? unevaluatedItems;
        return node ? [{ node, isSure }] : [];
      });
    };
    const start = parts.reduce((most, { node }) => Math.max(most, node.prefixItems?.length ?? 0), 0);
    const rest = elementsAt(start);
    for (const [index, element] of value.entries()) {
      this.#steps.spend(1);
      this.enter(element, index < start ? elementsAt(index) : rest, { key: index, outer: place });
    }
  }

  /** What a part says of a field; nothing if it does not know the field. */
  #fieldsAt(node: SchemaNode, key: string): readonly SchemaNode[] {
    this.#steps.spend(1);
    const property = node.properties?.get(key);
    const matching = node.patterns.filter(([pattern]) => pattern?.test(key, this.#steps) !== false);
    const named = [...(property ? [property] : []), ...matching.map(([, schema]) => schema)];
    const others = othersOf(node);
    return named.length > 0 ? named : others && others.schema !== false ? [others] : [];
  }

  /** Whether a part names a field that it does not require. */
  #mayBeAbsent(parts: readonly Speaker[], key: string): boolean {
    this.#steps.spend(parts.length);
    const named = parts.filter(({ node }) => node.properties?.has(key));
    this.#steps.spend(sumOf(named, ({ node }) => node.required.length));
    return named.some(({ node }) => !node.required.includes(key));
  }

  /** Whether null does not fit a field. To an alternative that is silent about the field, it is a value like any other. */
  #refuseNull(fields: readonly Speaker[], lacksOthers: boolean): boolean {
    const refusing = fields.filter(({ node }) => !this.#takesNull(node, 0));
    return refusing.some(({ isSure }) => isSure) || (lacksOthers && refusing.length === fields.length);
  }

  #takesNull(node: SchemaNode, depth: number): boolean {
    this.#steps.spend(1);
    if (depth > MAX_DEPTH) throw new StepsSpent();
    if (typeof node.schema === "boolean") return node.schema;
    const { ref, allOf = [], anyOf, oneOf, enumeration, schema } = node;
    const takes = (one: SchemaNode) => this.#takesNull(one, depth + 1);
    return (
      takesType(schema, "null") &&
      (schema.const ?? null) === null &&
      (enumeration?.scalars.has(null, this.#steps) ?? true) &&
      (ref === undefined || takes(ref)) &&
      allOf.every(takes) &&
      (anyOf?.some(takes) ?? true) &&
      (oneOf?.some(takes) ?? true)
    );
  }

  #note(key: string, parts: readonly Speaker[], place: Place | undefined): void {
    this.total += 1;
    if (this.unknown.length === FIELDS_LISTED) return;
    const path: (string | number)[] = [key];
    for (let outer = place; outer !== undefined; outer = outer.outer) path.unshift(outer.key);
    const names = new Set<string>();
    for (const { node } of parts)
      for (const name of node.properties?.keys() ?? []) {
        this.#steps.spend(1);
        if (names.size < NAMES_OFFERED && name.length <= NAME_LENGTH) names.add(name);
      }
    this.unknown.push({ path, names: [...names] });
  }
}

/** Whether a part declares its fields, so that it lacks all others. */
function isClosed(node: SchemaNode): boolean {
  const others = othersOf(node);
  if (others) return others.schema === false;
  return node.properties !== undefined && takesType(node.schema as JsonSchema, "object");
}

function othersOf({ additionalProperties, unevaluatedProperties }: SchemaNode): SchemaNode | undefined {
  return additionalProperties ?? unevaluatedProperties;
}

function takesType({ type }: JsonSchema, wanted: string): boolean {
  return type === undefined || (Array.isArray(type) ? type.includes(wanted) : type === wanted);
}

/** Maximum depth of references, alternatives and intersections that apply to one value. */
const MAX_DEPTH = 1000;

/** Fields that have one of a few scalar values, by which alternatives are told apart. */
type TagValues = ReadonlyMap<string, Scalars>;

const tagCache = new WeakMap<SchemaNode, TagValues>();

/** The tags of a node. Takes a step per field when they are first needed. Throws a `StepsSpent` beyond `MAX_DEPTH`. */
function tagsOf(node: SchemaNode, steps: Steps, depth = 0): TagValues {
  const before = tagCache.get(node);
  if (before) return before;
  if (depth > MAX_DEPTH) throw new StepsSpent();
  const { properties = [], ref, allOf = [] } = node;
  const tags = new Map<string, Scalars>();
  for (const other of [...(ref ? [ref] : []), ...allOf])
    for (const [key, values] of tagsOf(other, steps, depth + 1)) {
      steps.spend(1);
      tags.set(key, values);
    }
  for (const [key, property] of properties) {
    steps.spend(1);
    const values = tagValues(property, 0);
    if (values) tags.set(key, values);
  }
  tagCache.set(node, tags);
  return tags;
}

/** The scalars that a field can be, if its schema lists them. */
function tagValues({ schema, enumeration, ref }: SchemaNode, depth: number): Scalars | undefined {
  if (depth > MAX_DEPTH) throw new StepsSpent();
  if (typeof schema === "boolean") return undefined;
  if ("const" in schema) return new Scalars([schema.const]);
  if (enumeration) return enumeration.scalars;
  return ref ? tagValues(ref, depth + 1) : undefined;
}
