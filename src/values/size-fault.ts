/** What a foreign value may hold at most, before anything reads it by recursion. */
export interface SizeBounds {
  readonly depth: number;
  /** Values within it. A shared value counts in every place. */
  readonly values: number;
  /** UTF-16 code units of all texts and names within it; they are not counted by default. */
  readonly characters?: number;
}

/** Why a foreign value is too large, as the rest of a sentence about it; undefined if it is not. */
export function sizeFault(root: unknown, bounds: SizeBounds): string | undefined {
  const exceeded = exceededBy(root, bounds);
  return (
    exceeded &&
    {
      depth: `is nested more than ${bounds.depth} levels deep, or holds itself`,
      values: `holds more than ${bounds.values} values`,
      characters: `has texts of more than ${bounds.characters} characters together`,
    }[exceeded]
  );
}

/** The bound that a foreign value exceeds. Works without recursion. */
export function exceededBy(
  root: unknown,
  { depth: maxDepth, values: maxValues, characters: maxCharacters }: SizeBounds,
): keyof SizeBounds | undefined {
  const open: unknown[] = [root];
  const depths: number[] = [1];
  let values = 0;
  let characters = 0;
  while (open.length > 0) {
    const part = open.pop();
    const depth = depths.pop() ?? 0;
    values += 1;
    if (typeof part === "string") characters += part.length;
    if (maxCharacters !== undefined && characters > maxCharacters) return "characters";
    if (typeof part !== "object" || part === null) continue;
    if (depth > maxDepth) return "depth";
    const children: readonly unknown[] = Array.isArray(part) ? part : Object.values(part);
    if (values + open.length + children.length > maxValues) return "values";
    if (maxCharacters !== undefined && !Array.isArray(part))
      for (const name of Object.keys(part)) characters += name.length;
    for (const child of children) {
      open.push(child);
      depths.push(depth + 1);
    }
  }
  return undefined;
}
