import { hash } from "node:crypto";

/** Maximum length of a tool name. Adapters shorten names further if a provider allows less. */
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

/** Name of the tool that runs a program, for models, and of a program's own approval. */
export const RUN_PROGRAM = "run_program";
/** Name of the tool by which a program goes on that waits for a person, for the models of other packages' loops. */
export const CONTINUE_PROGRAM = "continue_program";
/** Name of the search among tools, in frames, records and for models. No tool may have it. */
export const SEARCH_TOOLS = "search_tools";
/** The same search as a global function of programs. */
export const SEARCH_FUNCTION = "searchTools";
/** Names of the calls by which programs keep values and read them again, in frames and records. No tool may have them. */
export const SAVE_ARTIFACT = "save_artifact";
export const LOAD_ARTIFACT = "load_artifact";

/** The global functions of programs that make calls, and the names of these calls. */
export const CALLING_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  [SEARCH_FUNCTION, SEARCH_TOOLS],
  ["save", SAVE_ARTIFACT],
  ["load", LOAD_ARTIFACT],
]);
const FUNCTION_OF_CALL = new Map([...CALLING_FUNCTIONS].map(([name, call]) => [call, name]));
const RESERVED_FOR = new Map([
  [SEARCH_TOOLS, "the search among tools"],
  [SAVE_ARTIFACT, "values that programs keep"],
  [LOAD_ARTIFACT, "values that programs keep"],
]);

/** Whether a tool's name is meant by `*`, by a pattern like `crm.*`, or by the name itself. */
export function isMeantBy(pattern: string, name: string): boolean {
  return pattern === "*" || pattern === name || (pattern.endsWith(".*") && name.startsWith(pattern.slice(0, -1)));
}

/** The namespaces that a tool of this name is in, the innermost first. */
export function namespacesOf(name: string): readonly string[] {
  const parts = name.split(".").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("."));
}

/** Whether calls of this name are made by a global function of programs. */
export function isOfFunction(call: string): boolean {
  return FUNCTION_OF_CALL.has(call);
}

/** How a program writes a tool: `tools.crm.find`. */
export function pathOfTool(name: string): string {
  return FUNCTION_OF_CALL.get(name) ?? `tools.${name}`;
}

/**
 * What JavaScript and Python both read as one name, of letters in any script. It has one form only: Python compares names in
 * NFKC, and characters that are not shown would tell names apart that look alike.
 */
const IDENTIFIER =
  /^[[\p{XID_Start}_]--\p{Default_Ignorable_Code_Point}][\p{XID_Continue}--\p{Default_Ignorable_Code_Point}]*$/v;
const NOT_IN_IDENTIFIER = /[^\p{XID_Continue}]|\p{Default_Ignorable_Code_Point}/gu;

export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text) && text.normalize("NFKC") === text;
}

/**
 * A text as a part of a tool's name: `_` replaces other characters, and ends reserved parts, like `constructor`. Where it
 * replaces more than signs of ASCII, as of emoji, a digest tells the name from others.
 */
export function identifierOf(text: string): string {
  const plain = text.normalize("NFKC");
  const cleaned = plain.replaceAll(NOT_IN_IDENTIFIER, "_").replace(/^(?!\p{XID_Start}|_)/u, "_");
  const identifier = plain.match(NOT_IN_IDENTIFIER)?.some((one) => one > "\x7f")
    ? `${cleaned.slice(0, LONGEST / 2)}_${hash("sha256", text).slice(0, 8)}`
    : cleaned;
  return RESERVED.has(identifier) || RESERVED_FOR.has(identifier) ? `${identifier}_` : identifier;
}

/**
 * Why a name is invalid for a tool, or undefined if it is valid. Programs call a tool as `tools.` and its name, so the
 * name is one or more identifiers with dots between.
 */
export function toolNameFault(name: string): string | undefined {
  if (name.length > LONGEST) return `it has ${name.length} characters, at most ${LONGEST} are allowed`;
  const reserved = RESERVED_FOR.get(name);
  if (reserved !== undefined) return `it is reserved for ${reserved}`;
  for (const part of name.split(".")) {
    if (!isIdentifier(part))
      return `${JSON.stringify(part)} is not an identifier: programs reach a tool as tools.${name}, so every part between dots is letters, digits and _, and does not begin with a digit`;
    if (RESERVED.has(part)) return `${JSON.stringify(part)} is reserved`;
  }
  return undefined;
}
