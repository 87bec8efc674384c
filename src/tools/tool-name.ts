/** Longest tool name. Adapters shorten further where a provider allows less. */
const LONGEST = 128;

/** Names that would mean something else as a property of an object that programs hold. */
const RESERVED = new Set([
  "__proto__",
  "constructor",
  "prototype",
  "then",
  "toJSON",
  "toString",
  "valueOf",
  "hasOwnProperty",
]);

/**
 * Why a name cannot be a tool's, or undefined where it can: a tool is reached as `tools.` and its name, so the
 * name is one or more identifiers with dots between.
 */
export function toolNameFault(name: string): string | undefined {
  if (name.length > LONGEST) return `it has ${name.length} characters, at most ${LONGEST} are allowed`;
  for (const part of name.split(".")) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(part))
      return `${JSON.stringify(part)} is not an identifier: programs reach a tool as tools.${name}, so every part between dots is letters, digits and _, and does not begin with a digit`;
    if (RESERVED.has(part)) return `${JSON.stringify(part)} is reserved`;
  }
  return undefined;
}
