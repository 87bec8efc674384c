/** Levels of nesting that a value from a guest may have. */
const DEPTH = 100;

/**
 * Why a parsed JSON value should not be handed on, or undefined where it can be. Deep nesting breaks whatever
 * walks a value by recursion; a field called `__proto__` becomes a prototype when somebody copies the fields.
 * It walks without recursion itself, for the depth is the sender's choice.
 */
export function plainDataFault(root: unknown): string | undefined {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH) return `it is nested more than ${DEPTH} levels deep`;
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue;
      if (Object.hasOwn(value, "__proto__")) return "it has a field called __proto__";
      for (const child of Object.values(value)) if (typeof child === "object" && child !== null) next.push(child);
    }
    level = next;
  }
  return undefined;
}
