import type { JsonSchema } from "./json-schema.ts";
import type { SchemaNode } from "./compile-schema.ts";
import { isContainer } from "./identities.ts";
import { MAX_DEPTH, type SchemaLookups } from "./schema-lookups.ts";
import { type Steps, StepsSpent } from "./steps.ts";

/** Maximum of names that are offered for the comparison with an unknown name, and their maximum length. */
const NAMES_OFFERED = 256;
const NAME_LENGTH = 64;
/** Steps for a part of a schema that has to be joined with others. */
const PART_STEPS = 3;

/**
 * What a schema says about one value: nothing, what one part of the schema says, or what several parts say together.
 * All parts of `all` apply to the value, and at least one part of `any`. Both know a field if one of their parts knows
 * it. A field is unknown to `all` if one part declares its fields without it, and to `any` only if every part does.
 */
export type Reading =
  | { readonly type: "silent" }
  | { readonly type: "part"; readonly node: SchemaNode }
  | { readonly type: "all" | "any"; readonly of: readonly Reading[] };

const SILENT: Reading = { type: "silent" };

/** What a reading says about a field: the reading of the field's value, or that the field is unknown, or nothing. */
type FieldReading = Reading | "unknown" | undefined;

/** Reads what a schema says of one value's fields and elements. Throws `StepsSpent` if that takes too many steps. */
export class FieldReader {
  readonly #steps: Steps;
  readonly #lookups: SchemaLookups;
  /** What parts that several others refer to say about the value being read. */
  readonly #expanded = new Map<SchemaNode, Reading>();

  constructor(steps: Steps, lookups: SchemaLookups) {
    this.#steps = steps;
    this.#lookups = lookups;
  }

  /** The reading with every part that applies to `value`: references, alternatives and intersections. The other methods take such readings. */
  expand(reading: Reading, value: object): Reading {
    this.#expanded.clear();
    return this.#expandReading(reading, value, 0);
  }

  /** Names of fields that a reading knows, for the comparison with an unknown name. */
  knownNames(reading: Reading): string[] {
    const names = new Set<string>();
    this.#collectNames(reading, names);
    return [...names];
  }

  /** Replaces each part by the parts that apply to the same value: references, alternatives, intersections. */
  #expandReading(reading: Reading, value: object, depth: number): Reading {
    if (reading.type === "silent") return SILENT;
    if (reading.type === "part") return this.#expandNode(reading.node, value, depth);
    return this.#join(
      reading.type,
      reading.of.map((one) => this.#expandReading(one, value, depth + 1)),
    );
  }

  #expandNode(node: SchemaNode, value: object, depth: number): Reading {
    this.#steps.spend(PART_STEPS);
    if (depth > MAX_DEPTH) throw new StepsSpent();
    if (typeof node.schema === "boolean") return SILENT;
    const before = node.shared ? this.#expanded.get(node) : undefined;
    if (before) return before;
    const { ref, lists, one, maps } = node;
    if (!ref && !node.hasInPlace) return { type: "part", node };
    const below = (other: SchemaNode) => this.#expandNode(other, value, depth + 1);
    const parts: Reading[] = [{ type: "part", node }];
    if (ref) parts.push(below(ref));
    for (const other of lists.allOf ?? []) parts.push(below(other));
    for (const word of ["anyOf", "oneOf"] as const)
      if (lists[word]) parts.push(this.#join("any", this.#applicable(lists[word], value).map(below)));
    // These parts may know fields. A field that they do not know may still be known to others.
    for (const word of ["if", "then", "else"] as const)
      if (one[word]) parts.push(this.#join("any", [SILENT, below(one[word])]));
    this.#steps.spend(maps.dependentSchemas?.length ?? 0);
    for (const [key, dependent] of maps.dependentSchemas ?? [])
      if (Object.hasOwn(value, key)) parts.push(this.#join("any", [SILENT, below(dependent)]));
    const expanded = this.#join("all", parts);
    if (node.shared) this.#expanded.set(node, expanded);
    return expanded;
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
    const { tags } = this.#lookups.of(node, this.#steps);
    this.#steps.spend(tags.size);
    for (const [key, values] of tags) {
      const tag = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
      if (tag !== undefined && !isContainer(tag) && !values.has(tag)) return false;
    }
    return true;
  }

  fieldOf(reading: Reading, key: string): FieldReading {
    this.#steps.spend(1);
    if (reading.type === "silent") return undefined;
    if (reading.type === "part") return this.#fieldOfPart(reading.node, key);
    this.#steps.spend(reading.of.length * PART_STEPS);
    const fields = reading.of.map((one) => this.fieldOf(one, key));
    const known = fields.filter((field) => field !== undefined && field !== "unknown");
    if (reading.type === "all")
      return known.length > 0 ? this.#join("all", known) : fields.includes("unknown") ? "unknown" : undefined;
    if (known.length > 0) return this.#join("any", fields.includes(undefined) ? [SILENT, ...known] : known);
    return fields.includes(undefined) ? undefined : "unknown";
  }

  #fieldOfPart(node: SchemaNode, key: string): FieldReading {
    const { one, maps, patterns, schema } = node;
    const property = this.#lookups.of(node, this.#steps).properties.get(key);
    if (property && !maps.patternProperties) return { type: "part", node: property };
    const found: Reading[] = [];
    if (property) found.push({ type: "part", node: property });
    for (const [index, [, matching]] of (maps.patternProperties ?? []).entries())
      if (patterns[index]?.test(key, this.#steps) !== false) found.push({ type: "part", node: matching });
    if (found.length > 0) return this.#join("all", found);
    const others = one.additionalProperties ?? one.unevaluatedProperties;
    if (others) return others.schema === false ? "unknown" : { type: "part", node: others };
    return maps.properties && takesType(schema as JsonSchema, "object") ? "unknown" : undefined;
  }

  /** Whether the schema names a field, and an object without it fits. */
  mayBeAbsent(reading: Reading, key: string): boolean {
    return this.#names(reading, key) && !this.#requires(reading, key);
  }

  #names(reading: Reading, key: string): boolean {
    this.#steps.spend(1);
    if (reading.type === "silent") return false;
    if (reading.type === "part") return this.#lookups.of(reading.node, this.#steps).properties.has(key);
    return reading.of.some((one) => this.#names(one, key));
  }

  #requires(reading: Reading, key: string): boolean {
    this.#steps.spend(1);
    if (reading.type === "silent") return false;
    if (reading.type === "part") return this.#lookups.of(reading.node, this.#steps).required.has(key);
    return reading.type === "all"
      ? reading.of.some((one) => this.#requires(one, key))
      : reading.of.every((one) => this.#requires(one, key));
  }

  takesNull(reading: Reading): boolean {
    this.#steps.spend(1);
    if (reading.type === "silent") return true;
    if (reading.type === "part") return this.#nodeTakesNull(reading.node, 0);
    return reading.type === "all"
      ? reading.of.every((one) => this.takesNull(one))
      : reading.of.some((one) => this.takesNull(one));
  }

  #nodeTakesNull(node: SchemaNode, depth: number): boolean {
    this.#steps.spend(1);
    if (depth > MAX_DEPTH) throw new StepsSpent();
    if (typeof node.schema === "boolean") return node.schema;
    const { ref, lists, enumeration, schema } = node;
    const takes = (one: SchemaNode) => this.#nodeTakesNull(one, depth + 1);
    return (
      takesType(schema, "null") &&
      (schema.const ?? null) === null &&
      (enumeration?.scalars.has(null) ?? true) &&
      (ref === undefined || takes(ref)) &&
      (lists.allOf?.every(takes) ?? true) &&
      (lists.anyOf?.some(takes) ?? true) &&
      (lists.oneOf?.some(takes) ?? true)
    );
  }

  /** Length of the longest list of elements that have schemas of their own. */
  prefixLength(reading: Reading): number {
    this.#steps.spend(1);
    if (reading.type === "silent") return 0;
    if (reading.type !== "part") return Math.max(...reading.of.map((one) => this.prefixLength(one)));
    return reading.node.lists.prefixItems?.length ?? 0;
  }

  elementOf(reading: Reading, index: number): Reading {
    this.#steps.spend(1);
    if (reading.type === "silent") return SILENT;
    if (reading.type !== "part")
      return this.#join(
        reading.type,
        reading.of.map((one) => this.elementOf(one, index)),
      );
    const { lists, one } = reading.node;
    const node = lists.prefixItems?.[index] ?? one.items ?? one.unevaluatedItems;
    const parts: Reading[] = node ? [{ type: "part", node }] : [];
    if (one.contains) parts.push(this.#join("any", [SILENT, { type: "part", node: one.contains }]));
    return this.#join("all", parts);
  }

  /** Readings as one, without repetitions. To `all`, a silent reading adds nothing. */
  #join(type: "all" | "any", readings: readonly Reading[]): Reading {
    const [only] = readings;
    if (only && readings.length === 1) return only;
    const different = new Map<SchemaNode | Reading, Reading>();
    for (const reading of readings) {
      const parts = reading.type === type ? reading.of : [reading];
      this.#steps.spend(parts.length);
      for (const part of parts)
        if (part.type !== "silent" || type === "any") different.set(part.type === "part" ? part.node : part, part);
    }
    const of = [...different.values()];
    return of.length > 1 ? { type, of } : (of[0] ?? SILENT);
  }

  #collectNames(reading: Reading, names: Set<string>): void {
    if (reading.type === "silent") return;
    if (reading.type !== "part") return reading.of.forEach((one) => this.#collectNames(one, names));
    for (const name of this.#lookups.of(reading.node, this.#steps).properties.keys()) {
      this.#steps.spend(1);
      if (names.size === NAMES_OFFERED) return;
      if (name.length <= NAME_LENGTH) names.add(name);
    }
  }
}

function takesType({ type }: JsonSchema, wanted: string): boolean {
  return type === undefined || (Array.isArray(type) ? type.includes(wanted) : type === wanted);
}
