import type { JsonSchema } from "./json-schema.ts";
import { withDigitsAs } from "./map-value.ts";
import { type CompiledSchema, type SchemaNode, TYPES } from "./compile-schema.ts";
import { checkArray, checkObject } from "./check-parts.ts";
import { checkNumber, checkString } from "./check-scalar.ts";
import { alone, type Checker, type Failure, Findings, FITS, type Outcome, shownValue } from "./findings.ts";
import { Identities, isContainer, keyOf } from "./identities.ts";
import { Steps, StepsSpent } from "./steps.ts";
import { isLongInteger } from "../../base/index.ts";

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
): Failure | undefined {
  const steps = new Steps(maxSteps);
  const check = (given: unknown, asGiven: boolean) =>
    new Evaluation(steps, readsSeen, asGiven).check(root, given).failure;
  try {
    try {
      return check(value, true);
    } catch (error) {
      if (!(error instanceof HasDigits)) throw error;
      return check(withDigitsAs(BigInt, root.schema, value), false);
    }
  } catch (error) {
    if (error instanceof TooDeep) return alone("", "it is nested too deeply for its schema");
    if (error instanceof StepsSpent)
      return alone("", "it takes too long to be checked against its schema: pass less, or shorter strings");
    throw error;
  }
}

class TooDeep extends Error {}

/** A text may stand for a number. Whether it does is decided once for a value, by all parts that speak of it. */
class HasDigits extends Error {}

class Evaluation implements Checker {
  readonly steps: Steps;
  #identities: Identities | undefined;
  readonly #known = new Map<SchemaNode, Map<unknown, Outcome>>();
  readonly #readsSeen: boolean;
  readonly #asGiven: boolean;
  #depth = 0;

  constructor(steps: Steps, readsSeen: boolean, asGiven: boolean) {
    this.#asGiven = asGiven;
    this.steps = steps;
    this.#readsSeen = readsSeen;
  }

  get identities(): Identities {
    return (this.#identities ??= new Identities(this.steps));
  }

  check(node: SchemaNode, value: unknown): Outcome {
    this.steps.spend(1);
    if (node.schema === true) return FITS;
    if (node.schema === false) return { failure: alone("false", "there is no such field"), seen: undefined };
    if (!node.shared || !node.hasParts) return this.#enter(node, node.schema, value);
    const known = this.#known.get(node) ?? new Map<unknown, Outcome>();
    this.#known.set(node, known);
    const key = keyOf(value, this.steps);
    const before = known.get(key);
    if (before) return before;
    const outcome = this.#enter(node, node.schema, value);
    this.steps.spend(OUTCOME_STEPS + (outcome.failure ? FAULT_STEPS : 0) + (outcome.seen?.size ?? 0) * SEEN_STEPS);
    known.set(key, outcome);
    return outcome;
  }

  #enter(node: SchemaNode, schema: JsonSchema, value: unknown): Outcome {
    if (this.#asGiven && isLongInteger(value)) throw new HasDigits();
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new TooDeep();
    const found = new Findings(this.#readsSeen && isContainer(value));
    const type = typeOf(value);
    this.#checkValue(node, schema, value, type, found);
    this.#checkInPlace(node, value, found);
    switch (type) {
      case "object":
        checkObject(this, node, value as Readonly<Record<string, unknown>>, found);
        break;
      case "array":
        checkArray(this, node, value as readonly unknown[], found);
        break;
      case "number":
        checkNumber(this, node, value as number | bigint, found);
        break;
      case "string":
        checkString(this, node, value as string, found);
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
    if (ref) found.take(this.seen(this.check(ref, value)), "$ref", () => "it does not fit");
    const { type: types, const: constant } = schema;
    if (types !== undefined) this.#checkType(types, type, value, found);
    if (constant === undefined && !enumeration) return;
    const written = this.#written(value);
    if (constant !== undefined && !this.identities.areEqual(written, constant))
      found.add("const", () => `expected ${shownValue(constant)}`);
    if (!enumeration) return;
    const isNamed = isContainer(written)
      ? enumeration.containers.some((one) => this.identities.areEqual(written, one))
      : enumeration.scalars.has(written, this.steps);
    if (!isNamed) found.add("enum", () => expectedOneOf(schema.enum as readonly unknown[]));
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
      if (!isOfType(types, type, value)) found.add("type", () => `expected ${[types].join(" or ")}`);
      return;
    }
    this.steps.spend(types.length);
    if (!types.some((one) => isOfType(one, type, value))) found.add("type", () => `expected ${types.join(" or ")}`);
  }

  #checkInPlace(node: SchemaNode, value: unknown, found: Findings): void {
    if (node.not && !this.check(node.not, value).failure)
      found.add("not", () => 'expected no value that fits the schema under "not"');
    for (const word of ["anyOf", "allOf", "oneOf"] as const) {
      const outcomes = node[word]?.map((branch) => this.check(branch, value));
      if (!outcomes) continue;
      this.#see(outcomes, found);
      const fitting = outcomes.filter(({ failure }) => !failure).length;
      if (word === "allOf") {
        if (fitting < outcomes.length) found.addAll(outcomes);
      } else if (word === "oneOf" ? fitting !== 1 : fitting === 0) found.addChoice(word, fitting, outcomes);
    }
    if (node.if) {
      const condition = this.check(node.if, value);
      const word = condition.failure ? "else" : "then";
      this.#see([condition], found);
      const branch = node[word];
      if (branch)
        found.take(this.seen(this.check(branch, value)), "if", () => `it does not fit the schema under "${word}"`);
    }
  }

  /** Collects the evaluated fields and elements of the outcomes that fit. */
  #see(outcomes: readonly Outcome[], found: Findings): void {
    for (const outcome of outcomes) if (!outcome.failure) found.see(this.seen(outcome).seen);
  }

  seen(outcome: Outcome): Outcome {
    this.steps.spend(outcome.seen?.size ?? 0);
    return outcome;
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
