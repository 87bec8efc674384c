import type { JsonSchema } from "./json-schema.ts";
import type { SchemaNode } from "./compile-schema.ts";
import type { Checker, Findings } from "./findings.ts";

const NONE_CONTAINED = 'expected at least one element that fits the schema under "contains"';

export function checkArray(checker: Checker, node: SchemaNode, value: readonly unknown[], found: Findings): void {
  const { lists, one } = node;
  const { length } = value;
  found.addCount(node, ["maxItems", "minItems"], length, "elements");
  const stopped = checkItems(checker, node, value, found);
  if (one.contains) checkContains(checker, one.contains, node, value, found);
  if (!stopped && one.unevaluatedItems) {
    // `items` has evaluated all elements that follow `prefixItems`.
    const first = one.items ? length : (lists.prefixItems?.length ?? 0);
    for (let index = first; index < length; index += 1) {
      if (found.hasSeen(index)) continue;
      const outcome = checker.check(one.unevaluatedItems, value[index]);
      found.takeAt(index, outcome, "unevaluatedItems", () => "expected no such element");
    }
  }
  if ((node.schema as JsonSchema).uniqueItems) checkUnique(checker, value, found);
}

/** Checks the elements. Returns whether one failed. */
function checkItems(checker: Checker, { lists, one }: SchemaNode, value: readonly unknown[], found: Findings): boolean {
  let index = 0;
  const message = () => "this element does not fit";
  for (const node of (lists.prefixItems ?? []).slice(0, value.length)) {
    if (found.takeAt(index, checker.check(node, value[index]), "prefixItems", message)) return true;
    index += 1;
  }
  if (one.items)
    for (; index < value.length; index += 1)
      if (found.takeAt(index, checker.check(one.items, value[index]), "items", message)) return true;
  return false;
}

function checkContains(
  checker: Checker,
  contains: SchemaNode,
  { bounds }: SchemaNode,
  value: readonly unknown[],
  found: Findings,
): void {
  const { minContains, maxContains } = bounds;
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
