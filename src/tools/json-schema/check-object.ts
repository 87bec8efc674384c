import type { SchemaNode } from "./compile-schema.ts";
import { type Checker, type Findings, shown } from "./findings.ts";

export function checkObject(
  checker: Checker,
  node: SchemaNode,
  value: Readonly<Record<string, unknown>>,
  found: Findings,
): void {
  const keys = Object.keys(value);
  checker.steps.spend(keys.length);
  checkRequired(checker, value, node.required, found, "required", (key) => `the field ${shown(key)} is missing`);
  if (node.saysMoreOfObjects) checkRest(checker, node, value, keys, found);
  checkFields(checker, node, value, keys, found);
}

/** What few schemas say of an object as a whole. */
function checkRest(
  checker: Checker,
  node: SchemaNode,
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  found: Findings,
): void {
  const { one, maps } = node;
  found.addCount(node, ["minProperties", "maxProperties"], keys.length, "fields");
  if (one.propertyNames)
    for (const key of keys) {
      const outcome = checker.check(one.propertyNames, key);
      found.takeAt(key, outcome, "propertyNames", () => `the name ${shown(key)} does not fit`);
    }
  checker.steps.spend(node.dependentNames.length);
  for (const [key, names] of node.dependentNames) {
    if (!Object.hasOwn(value, key)) continue;
    const message = (missing: string) => `beside the field ${shown(key)} the field ${shown(missing)} is missing`;
    checkRequired(checker, value, names, found, "dependentRequired", message);
  }
  checker.steps.spend(maps.dependentSchemas?.size ?? 0);
  for (const [key, dependent] of maps.dependentSchemas ?? []) {
    if (!Object.hasOwn(value, key)) continue;
    const outcome = checker.seen(checker.check(dependent, value));
    found.take(outcome, "dependentSchemas", () => `it does not fit beside the field ${shown(key)}`);
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
  { one, maps, patterns, saysMoreOfObjects }: SchemaNode,
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  found: Findings,
): void {
  const { additionalProperties, unevaluatedProperties } = one;
  const named = additionalProperties && new Set<string>();
  const take = (key: string, property: SchemaNode, keyword: string): boolean =>
    found.takeAt(key, checker.check(property, value[key]), keyword, () => `the field ${shown(key)} does not fit`);
  for (const [key, property] of maps.properties ?? []) {
    checker.steps.spend(1);
    if (!Object.hasOwn(value, key)) continue;
    named?.add(key);
    if (take(key, property, "properties")) return;
  }
  if (!saysMoreOfObjects && !named) return;
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
