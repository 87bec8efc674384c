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

/** Name of the search among tools, in frames, records and for models. No tool may have it. */
export const SEARCH_TOOLS = "search_tools";
/** The same search as a global function of programs. */
export const SEARCH_FUNCTION = "searchTools";

/** How a program writes a tool: `tools.crm.find`. */
export function pathOfTool(name: string): string {
  return name === SEARCH_TOOLS ? SEARCH_FUNCTION : `tools.${name}`;
}

/**
 * Why a name is invalid for a tool, or undefined if it is valid. Programs call a tool as `tools.` and its name, so the
 * name is one or more identifiers with dots between.
 */
export function toolNameFault(name: string): string | undefined {
  if (name.length > LONGEST) return `it has ${name.length} characters, at most ${LONGEST} are allowed`;
  if (name === SEARCH_TOOLS) return "it is reserved for the search among tools";
  for (const part of name.split(".")) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(part))
      return `${JSON.stringify(part)} is not an identifier: programs reach a tool as tools.${name}, so every part between dots is letters, digits and _, and does not begin with a digit`;
    if (RESERVED.has(part)) return `${JSON.stringify(part)} is reserved`;
  }
  return undefined;
}
