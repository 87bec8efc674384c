import type { SchemaNode } from "./compile-schema.ts";
import { type Checker, type Findings, shownValue } from "./findings.ts";
import type { JsonSchema } from "./json-schema.ts";

export function checkObject(
  checker: Checker,
  node: SchemaNode,
  value: Readonly<Record<string, unknown>>,
  found: Findings,
): void {
  const keys = Object.keys(value);
  checker.steps.spend(keys.length);
  checkRequired(checker, value, node.required, found, "required", (key) => `the field ${shownValue(key)} is missing`);
  checkRest(checker, node, value, keys, found);
  checkFields(checker, node, value, keys, found);
}

/** What is said of an object as a whole. */
function checkRest(
  checker: Checker,
  node: SchemaNode,
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  found: Findings,
): void {
  const { propertyNames, dependentSchemas = [] } = node;
  found.addCount(node, ["minProperties", "maxProperties"], keys.length, "fields");
  if (propertyNames)
    for (const key of keys) {
      const outcome = checker.check(propertyNames, key);
      found.takeAt(key, outcome, "propertyNames", () => `the name ${shownValue(key)} does not fit`);
    }
  checker.steps.spend(node.dependentNames.length);
  for (const [key, names] of node.dependentNames) {
    if (!Object.hasOwn(value, key)) continue;
    const message = (missing: string) =>
      `beside the field ${shownValue(key)} the field ${shownValue(missing)} is missing`;
    checkRequired(checker, value, names, found, "dependentRequired", message);
  }
  for (const [key, dependent] of dependentSchemas) {
    checker.steps.spend(1);
    if (!Object.hasOwn(value, key)) continue;
    const outcome = checker.seen(checker.check(dependent, value));
    found.take(outcome, "dependentSchemas", () => `it does not fit beside the field ${shownValue(key)}`);
  }
}

function checkRequired(
  checker: Checker,
  value: object,
  required: readonly string[],
  found: Findings,
  word: string,
  message: (key: string) => string,
): void {
  checker.steps.spend(required.length);
  for (const key of required) if (!Object.hasOwn(value, key)) found.add(word, () => message(key));
}

function checkFields(
  checker: Checker,
  { properties, patterns, additionalProperties, unevaluatedProperties }: SchemaNode,
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  found: Findings,
): void {
  const named = additionalProperties && new Set<string>();
  const take = (key: string, property: SchemaNode, keyword: string): boolean =>
    found.takeAt(key, checker.check(property, value[key]), keyword, () => `the field ${shownValue(key)} does not fit`);
  for (const [key, property] of properties ?? []) {
    checker.steps.spend(1);
    if (!Object.hasOwn(value, key)) continue;
    named?.add(key);
    if (take(key, property, "properties")) return;
  }
  let stop = false;
  for (const [pattern, property] of patterns)
    for (const key of keys) {
      if (!pattern?.test(key, checker.steps)) continue;
      named?.add(key);
      stop = take(key, property, "patternProperties") || stop;
    }
  // Any other field may be one of a pattern that is not checked.
  if (stop || patterns.some(([pattern]) => pattern === undefined)) return;
  if (additionalProperties) {
    for (const key of keys) if (!named?.has(key)) take(key, additionalProperties, "additionalProperties");
  } else if (unevaluatedProperties) {
    for (const key of keys) if (!found.hasSeen(key)) take(key, unevaluatedProperties, "unevaluatedProperties");
  }
}

const NONE_CONTAINED = 'expected at least one element that fits the schema under "contains"';

export function checkArray(checker: Checker, node: SchemaNode, value: readonly unknown[], found: Findings): void {
  const { prefixItems, items, contains, unevaluatedItems } = node;
  const { length } = value;
  found.addCount(node, ["maxItems", "minItems"], length, "elements");
  const stopped = checkItems(checker, node, value, found);
  if (contains) checkContains(checker, contains, node, value, found);
  if (!stopped && unevaluatedItems) {
    // `items` has evaluated all elements that follow `prefixItems`.
    const first = items ? length : (prefixItems?.length ?? 0);
    for (let index = first; index < length; index += 1) {
      if (found.hasSeen(index)) continue;
      const outcome = checker.check(unevaluatedItems, value[index]);
      found.takeAt(index, outcome, "unevaluatedItems", () => "expected no such element");
    }
  }
  if ((node.schema as JsonSchema).uniqueItems) checkUnique(checker, value, found);
}

/** Checks the elements. Returns whether one failed. */
function checkItems(
  checker: Checker,
  { prefixItems = [], items }: SchemaNode,
  value: readonly unknown[],
  found: Findings,
): boolean {
  let index = 0;
  const message = () => "this element does not fit";
  for (const node of prefixItems.slice(0, value.length)) {
    if (found.takeAt(index, checker.check(node, value[index]), "prefixItems", message)) return true;
    index += 1;
  }
  if (items)
    for (; index < value.length; index += 1)
      if (found.takeAt(index, checker.check(items, value[index]), "items", message)) return true;
  return false;
}

function checkContains(
  checker: Checker,
  contains: SchemaNode,
  { minContains, maxContains }: SchemaNode,
  value: readonly unknown[],
  found: Findings,
): void {
  const { length } = value;
  if (length === 0 && minContains === undefined) return found.add("contains", () => NONE_CONTAINED);
  if (minContains !== undefined && length < minContains)
    return found.add("minContains", () => `expected at least ${minContains} elements`);
  let contained = 0;
  for (const [index, item] of value.entries()) {
    if (checker.check(contains, item).failure) continue;
    contained += 1;
    found.see([index]);
  }
  const fitting = () => `elements that fit the schema under "contains", and ${contained} do`;
  if (minContains === undefined && contained === 0) found.add("contains", () => NONE_CONTAINED);
  else if (minContains !== undefined && contained < minContains)
    found.add("minContains", () => `expected at least ${minContains} ${fitting()}`);
  else if (maxContains !== undefined && contained > maxContains)
    found.add("maxContains", () => `expected at most ${maxContains} ${fitting()}`);
}

function checkUnique(checker: Checker, value: readonly unknown[], found: Findings): void {
  const first = new Map<unknown, number>();
  for (const [index, item] of value.entries()) {
    const identity = checker.identities.of(item);
    const before = first.get(identity);
    if (before !== undefined)
      return found.add("uniqueItems", () => `expected no two equal elements, and those at ${before} and ${index} are`);
    first.set(identity, index);
  }
}
