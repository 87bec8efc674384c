import type { JsonSchema } from "../schema.ts";
import type { BoundsOf, Checker } from "./checker.ts";
import type { SchemaNode } from "./compile-schema.ts";
import type { Findings } from "./findings.ts";

/** Checks an object's own keywords. */
export function checkObject(
  checker: Checker,
  node: SchemaNode,
  schema: JsonSchema,
  value: Readonly<Record<string, unknown>>,
  found: Findings,
): void {
  const { one, maps } = node;
  const keys = Object.keys(value);
  checker.steps.spend(keys.length);
  const { required } = schema;
  const { minProperties, maxProperties } = schema as BoundsOf<"minProperties" | "maxProperties">;
  checkRequired(
    checker,
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
        checker.check(one.propertyNames, key),
        "propertyNames",
        () => `Property name "${key}" does not match schema.`,
      );
  checker.steps.spend(node.dependentNames.length);
  for (const { word, key, names } of node.dependentNames)
    if (Object.hasOwn(value, key))
      checkRequired(
        checker,
        value,
        names,
        found,
        word,
        (missing) => `Instance has "${key}" but does not have "${missing}".`,
      );
  for (const word of ["dependentSchemas", "dependencies"] as const) {
    checker.steps.spend(maps[word]?.length ?? 0);
    for (const [key, dependent] of maps[word] ?? [])
      if (Object.hasOwn(value, key))
        found.take(
          checker.seen(checker.check(dependent, value)),
          word,
          () => `Instance has "${key}" but does not match dependant schema.`,
        );
  }
  checkFields(checker, node, value, keys, found);
}

function checkRequired(
  checker: Checker,
  value: object,
  required: unknown,
  found: Findings,
  word: string,
  message: (key: string) => string,
): void {
  if (!Array.isArray(required)) return;
  checker.steps.spend(required.length);
  for (const key of required) if (!Object.hasOwn(value, key as string)) found.add(word, () => message(String(key)));
}

function checkFields(
  checker: Checker,
  { one, maps, patterns }: SchemaNode,
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  found: Findings,
): void {
  const named = new Set<string>();
  for (const [key, property] of maps.properties ?? []) {
    checker.steps.spend(1);
    if (!Object.hasOwn(value, key)) continue;
    named.add(key);
    const outcome = checker.check(property, value[key]);
    if (found.takeAt(key, outcome, "properties", () => `Property "${key}" does not match schema.`)) return;
  }
  let stop = false;
  for (const [index, [pattern, property]] of (maps.patternProperties ?? []).entries())
    for (const key of keys) {
      if (!patterns[index]?.test(key, checker.steps)) continue;
      named.add(key);
      const message = () => `Property "${key}" matches pattern "${pattern}" but does not match associated schema.`;
      stop = found.takeAt(key, checker.check(property, value[key]), "patternProperties", message) || stop;
    }
  if (stop) return;
  if (one.additionalProperties) {
    for (const key of keys)
      if (!named.has(key))
        found.takeAt(
          key,
          checker.check(one.additionalProperties, value[key]),
          "additionalProperties",
          () => `Property "${key}" does not match additional properties schema.`,
        );
  } else if (one.unevaluatedProperties) {
    for (const key of keys)
      if (!found.hasSeen(key))
        found.takeAt(
          key,
          checker.check(one.unevaluatedProperties, value[key]),
          "unevaluatedProperties",
          () => `Property "${key}" does not match unevaluated properties schema.`,
        );
  }
}
