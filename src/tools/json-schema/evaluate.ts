import type { JsonSchema } from "./json-schema.ts";
import { withDigitsAs } from "./map-value.ts";
import { type CompiledSchema, type SchemaNode, TYPES } from "./compile-schema.ts";
import { checkNumber, checkString } from "./check-scalar.ts";
import { alone, type SchemaFailure, Findings, FITS, type CheckOutcome, shownValue } from "./findings.ts";
import { costedKey, identities } from "./identities.ts";
import { Steps, StepsSpent } from "./steps.ts";
import { type Fields, isAnyObject, isLongInteger } from "../../base/index.ts";

/** Maximum steps of one check: about half a second. A megabyte of ordinary data takes a hundredth of that. */
export const MAX_STEPS = 10_000_000;
/** Steps of an outcome that is remembered, for its memory, and of a fault in it or a name that it has seen. */
const OUTCOME_STEPS = 16;
const FAULT_STEPS = 48;
const SEEN_STEPS = 8;
/** Digits of a large number that are written per step. */
const DIGITS_A_STEP = 4;
/** Maximum depth of nested schema parts in one check. */
const MAX_DEPTH = 1500;

/** Checks a value; undefined if it fits. Each part of the schema that has parts checks each part of the value at most once. */
export function evaluate(
  { root, readsSeen }: CompiledSchema,
  value: unknown,
  maxSteps = MAX_STEPS,
): SchemaFailure | undefined {
  const steps = new Steps(maxSteps);
  const check = (instance: unknown, asGiven: boolean) =>
    new Evaluation(steps, readsSeen, asGiven).check(root, instance).failure;
  try {
    try {
      return check(value, true);
    } catch (error) {
      if (!(error instanceof HasDigits)) throw error;
      return check(withDigitsAs(BigInt, root.schema, value), false);
    }
  } catch (error) {
    if (error instanceof TooDeep) return alone("it is nested too deeply for its schema");
    if (error instanceof StepsSpent)
      return alone("it takes too long to be checked against its schema: pass less, or shorter strings");
    throw error;
  }
}

class TooDeep extends Error {}

/** A text may stand for a number. Whether it does is decided once for a value, by all parts that speak of it. */
class HasDigits extends Error {}

class Evaluation {
  readonly steps: Steps;
  #identities: ReturnType<typeof identities> | undefined;
  readonly #outcomes = new Map<SchemaNode, Map<unknown, CheckOutcome>>();
  readonly #readsSeen: boolean;
  readonly #asGiven: boolean;
  #depth = 0;

  constructor(steps: Steps, readsSeen: boolean, asGiven: boolean) {
    this.#asGiven = asGiven;
    this.steps = steps;
    this.#readsSeen = readsSeen;
  }

  get #equal() {
    return (this.#identities ??= identities(this.steps));
  }

  check(node: SchemaNode, value: unknown): CheckOutcome {
    this.steps.spend(1);
    if (node.schema === true) return FITS;
    if (node.schema === false) return { failure: alone("there is no such field"), seen: undefined };
    if (!node.shared || !node.hasParts) return this.#enter(node, node.schema, value);
    const outcomes = this.#outcomes.get(node) ?? new Map<unknown, CheckOutcome>();
    this.#outcomes.set(node, outcomes);
    const key = costedKey(value, this.steps);
    const before = outcomes.get(key);
    if (before) return before;
    const outcome = this.#enter(node, node.schema, value);
    this.steps.spend(OUTCOME_STEPS + (outcome.failure ? FAULT_STEPS : 0) + (outcome.seen?.size ?? 0) * SEEN_STEPS);
    outcomes.set(key, outcome);
    return outcome;
  }

  #enter(node: SchemaNode, schema: JsonSchema, value: unknown): CheckOutcome {
    if (this.#asGiven && isLongInteger(value)) throw new HasDigits();
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new TooDeep();
    const found = new Findings(this.#readsSeen && isAnyObject(value));
    const type = typeOf(value);
    this.#checkValue(node, schema, value, type, found);
    this.#checkInPlace(node, value, found);
    switch (type) {
      case "object":
        this.#checkObject(node, value as Fields, found);
        break;
      case "array":
        this.#checkArray(node, value as readonly unknown[], found);
        break;
      case "number":
        checkNumber(this.steps, node, value as number | bigint, found);
        break;
      case "string":
        checkString(this.steps, node, value as string, found);
        break;
      default:
    }
    this.#depth -= 1;
    return found.outcome;
  }

  #checkValue(
    { ref, enumeration }: SchemaNode,
    schema: JsonSchema,
    value: unknown,
    type: string,
    found: Findings,
  ): void {
    if (ref) this.#take(ref, value, found, () => "it does not fit");
    const { type: types, const: constant } = schema;
    if (types !== undefined) this.#checkType(types, type, value, found);
    if (constant === undefined && !enumeration) return;
    const written = this.#written(value);
    if (constant !== undefined && !this.#equal.areEqual(written, constant))
      found.add(() => `expected ${shownValue(constant)}`);
    if (!enumeration) return;
    const isNamed = isAnyObject(written)
      ? enumeration.containers.some((one) => this.#equal.areEqual(written, one))
      : enumeration.scalars.has(written, this.steps);
    if (!isNamed) found.add(() => expectedOneOf(schema.enum as readonly unknown[]));
  }

  /** In a schema a number that no double holds is the text of its digits. */
  #written(value: unknown): unknown {
    if (typeof value !== "bigint") return value;
    const digits = String(value);
    this.steps.spend(digits.length / DIGITS_A_STEP);
    return digits;
  }

  #checkType(types: unknown, type: string, value: unknown, found: Findings): void {
    if (!Array.isArray(types)) {
      if (!isOfType(types, type, value)) found.add(() => `expected ${[types].join(" or ")}`);
      return;
    }
    this.steps.spend(types.length);
    if (!types.some((one) => isOfType(one, type, value))) found.add(() => `expected ${types.join(" or ")}`);
  }

  #checkInPlace(node: SchemaNode, value: unknown, found: Findings): void {
    if (node.not && !this.check(node.not, value).failure)
      found.add(() => 'expected no value that fits the schema under "not"');
    for (const word of ["anyOf", "allOf", "oneOf"] as const) {
      const outcomes = node[word]?.map((branch) => this.check(branch, value));
      if (!outcomes) continue;
      this.#see(outcomes, found);
      const fitting = outcomes.filter(({ failure }) => !failure).length;
      if (word === "allOf") {
        if (fitting < outcomes.length) found.addAll(outcomes);
      } else if (word === "oneOf" ? fitting !== 1 : fitting === 0) found.addChoice(fitting, outcomes);
    }
    if (node.if) {
      const condition = this.check(node.if, value);
      const word = condition.failure ? "else" : "then";
      this.#see([condition], found);
      const branch = node[word];
      if (branch) this.#take(branch, value, found, () => `it does not fit the schema under "${word}"`);
    }
  }

  /** Collects the evaluated fields and elements of the outcomes that fit. */
  #see(outcomes: readonly CheckOutcome[], found: Findings): void {
    for (const { failure, seen } of outcomes) {
      if (failure) continue;
      this.steps.spend(seen?.size ?? 0);
      found.see(seen);
    }
  }

  /** Takes over the outcome of another part for the same value. */
  #take(node: SchemaNode, value: unknown, found: Findings, message: () => string): void {
    const outcome = this.check(node, value);
    this.steps.spend(outcome.seen?.size ?? 0);
    found.take(outcome, message);
  }

  #checkObject(node: SchemaNode, value: Fields, found: Findings): void {
    const keys = Object.keys(value);
    this.steps.spend(keys.length);
    this.#checkRequired(value, node.required, found, (key) => `the field ${shownValue(key)} is missing`);
    this.#checkRest(node, value, keys, found);
    this.#checkFields(node, value, keys, found);
  }

  /** What is said of an object as a whole. */
  #checkRest(node: SchemaNode, value: Fields, keys: readonly string[], found: Findings): void {
    const { propertyNames, dependentSchemas = [] } = node;
    found.addCount(node, ["minProperties", "maxProperties"], keys.length, "fields");
    if (propertyNames)
      for (const key of keys) {
        const outcome = this.check(propertyNames, key);
        found.takeAt(key, outcome, () => `the name ${shownValue(key)} does not fit`, true);
      }
    this.steps.spend(node.dependentNames.length);
    for (const [key, names] of node.dependentNames) {
      if (!Object.hasOwn(value, key)) continue;
      const message = (missing: string) =>
        `beside the field ${shownValue(key)} the field ${shownValue(missing)} is missing`;
      this.#checkRequired(value, names, found, message);
    }
    for (const [key, dependent] of dependentSchemas) {
      this.steps.spend(1);
      const message = () => `it does not fit beside the field ${shownValue(key)}`;
      if (Object.hasOwn(value, key)) this.#take(dependent, value, found, message);
    }
  }

  #checkRequired(value: object, required: readonly string[], found: Findings, message: (key: string) => string): void {
    this.steps.spend(required.length);
    for (const key of required) if (!Object.hasOwn(value, key)) found.add(() => message(key));
  }

  #checkFields(node: SchemaNode, value: Fields, keys: readonly string[], found: Findings): void {
    const { properties, patterns, additionalProperties, unevaluatedProperties } = node;
    const named = additionalProperties && new Set<string>();
    const take = (key: string, property: SchemaNode): boolean =>
      found.takeAt(key, this.check(property, value[key]), () => `the field ${shownValue(key)} does not fit`);
    for (const [key, property] of properties ?? []) {
      this.steps.spend(1);
      if (!Object.hasOwn(value, key)) continue;
      named?.add(key);
      if (take(key, property)) return;
    }
    let stop = false;
    for (const [pattern, property] of patterns)
      for (const key of keys) {
        if (!pattern?.test(key, this.steps)) continue;
        named?.add(key);
        stop = take(key, property) || stop;
      }
    // Any other field may be one of a pattern that is not checked.
    if (stop || patterns.some(([pattern]) => pattern === undefined)) return;
    if (additionalProperties) {
      for (const key of keys) if (!named?.has(key)) take(key, additionalProperties);
    } else if (unevaluatedProperties) {
      for (const key of keys) if (!found.hasSeen(key)) take(key, unevaluatedProperties);
    }
  }

  #checkArray(node: SchemaNode, value: readonly unknown[], found: Findings): void {
    const { prefixItems = [], items, contains, unevaluatedItems } = node;
    found.addCount(node, ["maxItems", "minItems"], value.length, "elements");
    const stopped = this.#checkItems(node, value, found);
    if (contains) this.#checkContains(contains, node, value, found);
    // `items` has evaluated all elements that follow `prefixItems`.
    if (!stopped && unevaluatedItems && !items)
      for (let index = prefixItems.length; index < value.length; index += 1) {
        if (found.hasSeen(index)) continue;
        const outcome = this.check(unevaluatedItems, value[index]);
        found.takeAt(index, outcome, () => "expected no such element");
      }
    if ((node.schema as JsonSchema).uniqueItems) this.#checkUnique(value, found);
  }

  /** Checks the elements. Returns whether one failed. */
  #checkItems({ prefixItems = [], items }: SchemaNode, value: readonly unknown[], found: Findings): boolean {
    const message = () => "this element does not fit";
    const last = items ? value.length : Math.min(prefixItems.length, value.length);
    for (let index = 0; index < last; index += 1) {
      const isFirst = index < prefixItems.length;
      const outcome = this.check((isFirst ? prefixItems[index] : items) as SchemaNode, value[index]);
      if (found.takeAt(index, outcome, message)) return true;
    }
    return false;
  }

  #checkContains(contains: SchemaNode, bounds: SchemaNode, value: readonly unknown[], found: Findings): void {
    const { minContains: least = 1, maxContains = Infinity } = bounds;
    let contained = 0;
    // Too few elements are not looked at.
    for (const [index, item] of (value.length < least ? [] : value).entries()) {
      if (this.check(contains, item).failure) continue;
      contained += 1;
      found.see([index]);
    }
    const add = (bound: string) =>
      found.add(() => `expected at ${bound} elements that fit the schema under "contains", and ${contained} do`);
    if (contained < least) add(`least ${least}`);
    else if (contained > maxContains) add(`most ${maxContains}`);
  }

  #checkUnique(value: readonly unknown[], found: Findings): void {
    const first = new Map<unknown, number>();
    for (const [index, item] of value.entries()) {
      const identity = this.#equal.of(item);
      const before = first.get(identity);
      if (before !== undefined)
        return found.add(() => `expected no two equal elements, and those at ${before} and ${index} are`);
      first.set(identity, index);
    }
  }
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  if (type === "bigint") return "number";
  if (type === "boolean" || type === "number" || type === "string" || type === "object") return type;
  throw new Error(`Instances of "${type}" type are not supported.`);
}

function isOfType(wanted: unknown, type: string, value: unknown): boolean {
  if (wanted === "integer") return type === "number" && (typeof value === "bigint" || (value as number) % 1 === 0);
  return wanted === type || !TYPES.has(wanted);
}

/** Maximum values of an enumeration that are named. */
const VALUES_SHOWN = 16;

function expectedOneOf(values: readonly unknown[]): string {
  const more = values.length > VALUES_SHOWN ? ` or ${values.length - VALUES_SHOWN} others` : "";
  return `expected ${values.slice(0, VALUES_SHOWN).map(shownValue).join(" or ")}${more}`;
}
