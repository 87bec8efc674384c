import type { JsonSchema } from "../schema.ts";
import type { CompiledSchema, SchemaNode } from "./compile-schema.ts";
import { fitsFormat, formatSteps } from "./formats.ts";
import { Identities } from "./identities.ts";
import { isMultipleOf } from "./multiple-of.ts";
import { Steps, StepsSpent } from "./steps.ts";

/** Maximum steps of one check: about a second. A megabyte of ordinary data takes a hundredth of that. */
export const MAX_STEPS = 10_000_000;
/** Maximum depth of nested schema parts in one check. */
const MAX_DEPTH = 1500;

/** One fault. `path` is relative to the value being checked. */
export interface Problem {
  readonly keyword: string;
  readonly message: () => string;
  readonly path: Path | undefined;
}

export interface Path {
  readonly key: string | number;
  readonly rest: Path | undefined;
}

/** Faults of a value: the first choice without a fitting alternative, and the last fault found, which is the innermost. */
export interface Failure {
  readonly choice: Problem | undefined;
  readonly last: Problem;
}

/** Outcome of checking a value: its failure, or the fields and elements that were evaluated, for `unevaluated…`. */
interface Outcome {
  readonly failure: Failure | undefined;
  readonly seen: ReadonlySet<string | number> | undefined;
}

const FITS: Outcome = { failure: undefined, seen: undefined };

/** Checks a value; undefined if it fits. Each part of the schema checks each part of the value at most once. */
export function evaluate(
  { root, readsSeen }: CompiledSchema,
  value: unknown,
  maxSteps = MAX_STEPS,
): Failure | undefined {
  try {
    return new Evaluation(new Steps(maxSteps), readsSeen).check(root, value).failure;
  } catch (error) {
    if (error instanceof TooDeep) return alone("", "it is nested too deeply for its schema");
    if (error instanceof StepsSpent)
      return alone("", "it takes too long to be checked against its schema: pass less, or shorter strings");
    throw error;
  }
}

class TooDeep extends Error {}

class Evaluation {
  readonly #steps: Steps;
  readonly #identities: Identities;
  readonly #known = new Map<SchemaNode, Map<unknown, Outcome>>();
  readonly #readsSeen: boolean;
  #depth = 0;

  constructor(steps: Steps, readsSeen: boolean) {
    this.#steps = steps;
    this.#readsSeen = readsSeen;
    this.#identities = new Identities(steps);
  }

  check(node: SchemaNode, value: unknown): Outcome {
    this.#steps.spend(1);
    if (node.schema === true) return FITS;
    if (node.schema === false) return { failure: alone("false", "False boolean schema."), seen: undefined };
    if (!node.shared) return this.#enter(node, node.schema, value);
    const known = this.#known.get(node) ?? new Map<unknown, Outcome>();
    this.#known.set(node, known);
    const before = known.get(value);
    if (before) return before;
    const outcome = this.#enter(node, node.schema, value);
    known.set(value, outcome);
    return outcome;
  }

  #enter(node: SchemaNode, schema: JsonSchema, value: unknown): Outcome {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new TooDeep();
    const found = new Findings(this.#readsSeen && isContainer(value));
    this.#checkValue(node, schema, value, found);
    this.#checkInPlace(node, value, found);
    switch (typeOf(value)) {
      case "object":
        this.#checkObject(node, schema, value as Readonly<Record<string, unknown>>, found);
        break;
      case "array":
        this.#checkArray(node, schema, value as readonly unknown[], found);
        break;
      case "number":
        this.#checkNumber(schema, value as number, found);
        break;
      case "string":
        this.#checkString(node, schema, value as string, found);
        break;
      default:
    }
    this.#depth -= 1;
    return found.outcome;
  }

  // ---- any value ----------------------------------------------------------------------------------------------------

  #checkValue({ ref, enumeration }: SchemaNode, schema: JsonSchema, value: unknown, found: Findings): void {
    const type = typeOf(value);
    if (ref) found.take(this.#seen(this.check(ref, value)), "$ref", () => "A subschema had errors.");
    const { type: types, const: constant } = schema;
    if (Array.isArray(types)) this.#steps.spend(types.length);
    if (types !== undefined && !(Array.isArray(types) ? types : [types]).some((one) => isOfType(one, type, value)))
      found.add(
        "type",
        () =>
          `Instance type "${type}" is invalid. Expected "${Array.isArray(types) ? types.join('", "') : (types as string)}".`,
      );
    if (constant !== undefined && !this.#identities.areEqual(value, constant))
      found.add("const", () => `Instance does not match ${JSON.stringify(constant)}.`);
    if (
      enumeration &&
      !(isContainer(value)
        ? enumeration.containers.some((one) => this.#identities.areEqual(value, one))
        : enumeration.scalars.has(value))
    )
      found.add("enum", () => `Instance does not match any of ${JSON.stringify(schema.enum)}.`);
  }

  #checkInPlace({ lists, one }: SchemaNode, value: unknown, found: Findings): void {
    if (one.not && !this.check(one.not, value).failure) found.add("not", () => 'Instance matched "not" schema.');
    if (lists.anyOf) {
      const outcomes = lists.anyOf.map((branch) => this.check(branch, value));
      this.#see(outcomes, found);
      if (outcomes.every(({ failure }) => failure))
        found.addAll("anyOf", "Instance does not match any subschemas.", outcomes);
    }
    if (lists.allOf) {
      const outcomes = lists.allOf.map((branch) => this.check(branch, value));
      this.#see(outcomes, found);
      if (outcomes.some(({ failure }) => failure))
        found.addAll("allOf", "Instance does not match every subschema.", outcomes);
    }
    if (lists.oneOf) {
      const outcomes = lists.oneOf.map((branch) => this.check(branch, value));
      this.#see(outcomes, found);
      const matches = outcomes.filter(({ failure }) => !failure).length;
      if (matches !== 1)
        found.addAll("oneOf", `Instance does not match exactly one subschema (${matches} matches).`, outcomes);
    }
    if (one.if) {
      const condition = this.check(one.if, value);
      const word = condition.failure ? "else" : "then";
      this.#see([condition], found);
      const branch = one[word];
      if (branch)
        found.take(this.#seen(this.check(branch, value)), "if", () => `Instance does not match "${word}" schema.`);
    }
  }

  /** Collects the evaluated fields and elements of the outcomes that fit. */
  #see(outcomes: readonly Outcome[], found: Findings): void {
    for (const outcome of outcomes) if (!outcome.failure) found.see(this.#seen(outcome).seen);
  }

  /** Counts a step for each evaluated field and element before they are read. */
  #seen(outcome: Outcome): Outcome {
    this.#steps.spend(outcome.seen?.size ?? 0);
    return outcome;
  }

  // ---- objects ------------------------------------------------------------------------------------------------------

  #checkObject(node: SchemaNode, schema: JsonSchema, value: Readonly<Record<string, unknown>>, found: Findings): void {
    const { one, maps } = node;
    const keys = Object.keys(value);
    this.#steps.spend(keys.length);
    const { required } = schema;
    const { minProperties, maxProperties } = schema as BoundsOf<"minProperties" | "maxProperties">;
    this.#checkRequired(
      value,
      required,
      found,
      "required",
      (key) => `Instance does not have required property "${key}".`,
    );
    if (minProperties !== undefined && keys.length < minProperties)
      found.add("minProperties", () => `Instance does not have at least ${minProperties} properties.`);
    if (maxProperties !== undefined && keys.length > maxProperties)
      found.add("maxProperties", () => `Instance does not have at least ${maxProperties} properties.`);
    if (one.propertyNames)
      for (const key of keys)
        found.takeAt(
          key,
          this.check(one.propertyNames, key),
          "propertyNames",
          () => `Property name "${key}" does not match schema.`,
        );
    this.#steps.spend(node.dependentNames.length);
    for (const { word, key, names } of node.dependentNames)
      if (Object.hasOwn(value, key))
        this.#checkRequired(
          value,
          names,
          found,
          word,
          (missing) => `Instance has "${key}" but does not have "${missing}".`,
        );
    for (const word of ["dependentSchemas", "dependencies"] as const) {
      this.#steps.spend(maps[word]?.length ?? 0);
      for (const [key, dependent] of maps[word] ?? [])
        if (Object.hasOwn(value, key))
          found.take(
            this.#seen(this.check(dependent, value)),
            word,
            () => `Instance has "${key}" but does not match dependant schema.`,
          );
    }
    this.#checkFields(node, value, keys, found);
  }

  #checkRequired(
    value: object,
    required: unknown,
    found: Findings,
    word: string,
    message: (key: string) => string,
  ): void {
    if (!Array.isArray(required)) return;
    this.#steps.spend(required.length);
    for (const key of required) if (!Object.hasOwn(value, key as string)) found.add(word, () => message(String(key)));
  }

  #checkFields(
    { one, maps, patterns }: SchemaNode,
    value: Readonly<Record<string, unknown>>,
    keys: readonly string[],
    found: Findings,
  ): void {
    const named = new Set<string>();
    for (const [key, property] of maps.properties ?? []) {
      this.#steps.spend(1);
      if (!Object.hasOwn(value, key)) continue;
      named.add(key);
      const outcome = this.check(property, value[key]);
      if (found.takeAt(key, outcome, "properties", () => `Property "${key}" does not match schema.`)) return;
    }
    let stop = false;
    for (const [index, [pattern, property]] of (maps.patternProperties ?? []).entries())
      for (const key of keys) {
        if (!patterns[index]?.test(key, this.#steps)) continue;
        named.add(key);
        const message = () => `Property "${key}" matches pattern "${pattern}" but does not match associated schema.`;
        stop = found.takeAt(key, this.check(property, value[key]), "patternProperties", message) || stop;
      }
    if (stop) return;
    if (one.additionalProperties) {
      for (const key of keys)
        if (!named.has(key))
          found.takeAt(
            key,
            this.check(one.additionalProperties, value[key]),
            "additionalProperties",
            () => `Property "${key}" does not match additional properties schema.`,
          );
    } else if (one.unevaluatedProperties) {
      for (const key of keys)
        if (!found.hasSeen(key))
          found.takeAt(
            key,
            this.check(one.unevaluatedProperties, value[key]),
            "unevaluatedProperties",
            () => `Property "${key}" does not match unevaluated properties schema.`,
          );
    }
  }

  // ---- arrays -------------------------------------------------------------------------------------------------------

  #checkArray(node: SchemaNode, schema: JsonSchema, value: readonly unknown[], found: Findings): void {
    const { lists, one } = node;
    const { uniqueItems } = schema;
    const { minItems, maxItems } = schema as BoundsOf<"minItems" | "maxItems">;
    const { length } = value;
    if (maxItems !== undefined && length > maxItems)
      found.add("maxItems", () => `Array has too many items (${length} > ${maxItems}).`);
    if (minItems !== undefined && length < minItems)
      found.add("minItems", () => `Array has too few items (${length} < ${minItems}).`);
    const stopped = this.#checkItems(node, value, found);
    if (one.contains) this.#checkContains(one.contains, schema, value, found);
    if (!stopped && one.unevaluatedItems)
      // `items` has evaluated all elements that follow `prefixItems`.
      for (
        let index = one.items ? length : Math.max(lists.prefixItems?.length ?? 0, lists.items?.length ?? 0);
        index < length;
        index += 1
      )
        if (!found.hasSeen(index))
          found.takeAt(
            index,
            this.check(one.unevaluatedItems, value[index]),
            "unevaluatedItems",
            () => "Items did not match unevaluated items schema.",
          );
    if (uniqueItems) this.#checkUnique(value, found);
  }

  /** Checks the elements. Returns whether one failed. */
  #checkItems({ lists, one }: SchemaNode, value: readonly unknown[], found: Findings): boolean {
    let index = 0;
    const message = () => "Items did not match schema.";
    for (const word of ["prefixItems", "items"] as const)
      for (; index < Math.min(lists[word]?.length ?? 0, value.length); index += 1)
        if (found.takeAt(index, this.check((lists[word] ?? [])[index] as SchemaNode, value[index]), word, message))
          return true;
    if (one.items)
      for (; index < value.length; index += 1)
        if (found.takeAt(index, this.check(one.items, value[index]), "items", message)) return true;
    let stop = false;
    if (one.additionalItems && (one.items || lists.items))
      for (; index < value.length; index += 1)
        stop =
          found.takeAt(
            index,
            this.check(one.additionalItems, value[index]),
            "additionalItems",
            () => "Items did not match additional items schema.",
          ) || stop;
    return stop;
  }

  #checkContains(contains: SchemaNode, schema: JsonSchema, value: readonly unknown[], found: Findings): void {
    const { minContains, maxContains } = schema as { readonly minContains?: number; readonly maxContains?: number };
    const { length } = value;
    if (length === 0 && minContains === undefined)
      return found.add("contains", () => "Array is empty. It must contain at least one item matching the schema.");
    if (minContains !== undefined && length < minContains)
      return found.add("minContains", () => `Array has less items (${length}) than minContains (${minContains}).`);
    let contained = 0;
    for (const [index, item] of value.entries()) {
      if (this.check(contains, item).failure) continue;
      contained += 1;
      found.see([index]);
    }
    if (minContains === undefined && contained === 0)
      found.add("contains", () => "Array does not contain item matching schema.");
    else if (minContains !== undefined && contained < minContains)
      found.add(
        "minContains",
        () => `Array must contain at least ${minContains} items matching schema. Only ${contained} items were found.`,
      );
    else if (maxContains !== undefined && contained > maxContains)
      found.add(
        "maxContains",
        () => `Array may contain at most ${maxContains} items matching schema. ${contained} items were found.`,
      );
  }

  #checkUnique(value: readonly unknown[], found: Findings): void {
    const first = new Map<unknown, number>();
    for (const [index, item] of value.entries()) {
      const identity = this.#identities.of(item);
      const before = first.get(identity);
      if (before !== undefined)
        return found.add("uniqueItems", () => `Duplicate items at indexes ${before} and ${index}.`);
      first.set(identity, index);
    }
  }

  // ---- numbers ------------------------------------------------------------------------------------------------------

  #checkNumber(schema: JsonSchema, value: number, found: Findings): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Record<string, number>;
    if (minimum !== undefined && value < minimum) found.add("minimum", () => `${value} is less than ${minimum}.`);
    if (maximum !== undefined && value > maximum) found.add("maximum", () => `${value} is greater than ${maximum}.`);
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
      found.add("exclusiveMinimum", () => `${value} is less than ${exclusiveMinimum}.`);
    if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
      found.add("exclusiveMaximum", () => `${value} is greater than or equal to ${exclusiveMaximum}.`);
    if (multipleOf === undefined) return;
    this.#steps.spend(MULTIPLE_STEPS);
    if (!isMultipleOf(value, multipleOf)) found.add("multipleOf", () => `${value} is not a multiple of ${multipleOf}.`);
  }

  // ---- strings ------------------------------------------------------------------------------------------------------

  #checkString({ pattern }: SchemaNode, schema: JsonSchema, value: string, found: Findings): void {
    const { format } = schema;
    const { minLength, maxLength } = schema as BoundsOf<"minLength" | "maxLength">;
    if (minLength !== undefined || maxLength !== undefined) {
      const length = lengthOf(value);
      this.#steps.spend(1 + value.length / CHARACTERS_A_STEP);
      if (minLength !== undefined && length < minLength)
        found.add("minLength", () => `String is too short (${length} < ${minLength}).`);
      if (maxLength !== undefined && length > maxLength)
        found.add("maxLength", () => `String is too long (${length} > ${maxLength}).`);
    }
    if (pattern && !pattern.test(value, this.#steps)) found.add("pattern", () => "String does not match pattern.");
    if (format !== undefined) {
      this.#steps.spend(1 + value.length * formatSteps(format));
      if (!fitsFormat(format, value)) found.add("format", () => `String does not match format "${format as string}".`);
    }
  }
}

/** Numeric keywords of a schema. Their values are not checked to be numbers. */
type BoundsOf<Word extends string> = Readonly<Partial<Record<Word, number>>>;

/** Characters counted per step. */
const CHARACTERS_A_STEP = 8;
/** Steps of one `multipleOf` check, which may divide integers of hundreds of digits. */
const MULTIPLE_STEPS = 60;

/** Collects the findings of one schema part about a value. */
class Findings {
  readonly #readsSeen: boolean;
  #choice: Problem | undefined;
  #last: Problem | undefined;
  #seen: Set<string | number> | undefined;

  constructor(readsSeen: boolean) {
    this.#readsSeen = readsSeen;
  }

  get outcome(): Outcome {
    const { failure } = this;
    return failure === undefined && this.#seen === undefined ? FITS : { failure, seen: this.#seen };
  }

  get failure(): Failure | undefined {
    return this.#last && { choice: this.#choice, last: this.#last };
  }

  add(keyword: string, message: () => string): void {
    this.#join({ choice: undefined, last: { keyword, message, path: undefined } });
  }

  /** Adds the fault of `anyOf`, `oneOf` or `allOf`, then the faults of its branches. */
  addAll(keyword: string, text: string, outcomes: readonly Outcome[]): void {
    const own: Problem = { keyword, message: () => text, path: undefined };
    this.#join({ choice: keyword === "anyOf" || keyword === "oneOf" ? own : undefined, last: own });
    for (const { failure } of outcomes) if (failure) this.#join(failure);
  }

  /** Takes over the outcome of another schema part for the same value. */
  take({ failure, seen }: Outcome, keyword: string, message: () => string): void {
    if (!failure) return this.see(seen);
    this.add(keyword, message);
    this.#join(failure);
  }

  /** Takes over the outcome of a field or an element. Returns whether it failed. */
  takeAt(key: string | number, { failure }: Outcome, keyword: string, message: () => string): boolean {
    if (keyword !== "propertyNames") this.see([key]);
    if (!failure) return false;
    this.add(keyword, message);
    this.#join(within(key, failure));
    return true;
  }

  see(keys: Iterable<string | number> | undefined): void {
    if (keys === undefined || !this.#readsSeen) return;
    this.#seen ??= new Set();
    for (const key of keys) this.#seen.add(key);
  }

  hasSeen(key: string | number): boolean {
    return this.#seen?.has(key) ?? false;
  }

  #join({ choice, last }: Failure): void {
    this.#choice ??= choice;
    this.#last = last;
  }
}

function alone(keyword: string, text: string): Failure {
  return { choice: undefined, last: { keyword, message: () => text, path: undefined } };
}

function within(key: string | number, { choice, last }: Failure): Failure {
  const put = (problem: Problem): Problem => ({ ...problem, path: { key, rest: problem.path } });
  return { choice: choice && put(choice), last: put(last) };
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  if (type === "boolean" || type === "number" || type === "string" || type === "object") return type;
  throw new Error(`Instances of "${type}" type are not supported.`);
}

function isOfType(wanted: unknown, type: string, value: unknown): boolean {
  return wanted === type || (wanted === "integer" && type === "number" && (value as number) % 1 === 0);
}

function isContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** In code points. */
function lengthOf(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; length += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return length;
}
