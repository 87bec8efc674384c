/** Maximum length of a tool name. Adapters shorten names further where a provider allows less. */
const LONGEST = 128;

/** Names with a special meaning as a property of a JavaScript object. */
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
 * Why a name is invalid for a tool, or undefined if it is valid. Programs call a tool as `tools.` and its name, so the
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
