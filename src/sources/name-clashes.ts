import { toolNameFault } from "../tools/tool-name.ts";

interface Named {
  readonly name: string;
}

/**
 * The tools of a source that cannot have their names, each with one that it clashes with: two would have the same name, or
 * one would be the namespace of another. Names that no tool can have are left aside.
 */
export function nameClashes<One extends Named>(named: readonly One[]): ReadonlyMap<One, One> {
  const possible = named.filter(({ name }) => toolNameFault(name) === undefined);
  const byName = Map.groupBy(possible, ({ name }) => name);
  const found = new Map<One, One>();
  for (const one of possible) {
    const [first, second] = byName.get(one.name) ?? [];
    const same = first === one ? second : first;
    const other = same ?? namespaceAmong(byName, one.name);
    if (!other) continue;
    found.set(one, other);
    if (!same && !found.has(other)) found.set(other, one);
  }
  return found;
}

/** The tool whose name is a namespace of this one. */
function namespaceAmong<One extends Named>(byName: ReadonlyMap<string, readonly One[]>, name: string): One | undefined {
  for (let end = name.lastIndexOf("."); end > 0; end = name.lastIndexOf(".", end - 1)) {
    const [outer] = byName.get(name.slice(0, end)) ?? [];
    if (outer) return outer;
  }
  return undefined;
}
