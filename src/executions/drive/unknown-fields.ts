/*
 * Fields that a program asks for as if they might be missing (`r?.items`, in Python `r.get("items")`), and that no result of
 * the tools that it called has. Such a program does not fail: it goes on with nothing.
 */
import type { Language } from "../../../bridge/frames.ts";
import { missingFieldAdvice, mayHaveOtherFields } from "../../tools/declarations/output-fields.ts";
import type { Tool } from "../../tools/tool.ts";
import { occurrences } from "../../base/index.ts";

/** Characters of a program that are read, and fields that are told. */
const SOURCE_LENGTH = 64 * 1024;
const FIELDS_TOLD = 3;
const TOOLS_READ = 20;
/** Names that are looked for in the whole program. */
const NAMES_READ = 50;

const ASKED: Readonly<Record<Language, RegExp>> = {
  javascript: /\?\.([A-Za-z_$][\w$]{0,63})(?![\w$(])/g,
  python: /\.get\(["'](\w{1,64})["']/g,
};

/** What every value has, and what results of calls of the language have. */
const BUILT_IN = new Set([
  "constructor",
  ...[Object, Array, String, Number, Error, Map, Set].flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)),
  ..."message code name cause stack".split(" "),
]);

/** Notes for the reader of a program's result. None if one of the tools may have given any field. */
export function unknownFieldNotes(source: string, language: Language, called: readonly Tool[]): readonly string[] {
  if (called.length === 0 || called.length > TOOLS_READ || called.some(mayHaveOtherFields)) return [];
  const read = source.slice(0, SOURCE_LENGTH);
  const names = new Set(read.matchAll(ASKED[language]).map(([, name = ""]) => name));
  const notes: string[] = [];
  for (const name of names.values().take(NAMES_READ)) {
    if (notes.length === FIELDS_TOLD) break;
    if (BUILT_IN.has(name) || isNamedElsewhere(read, name, language)) continue;
    const advice = missingFieldAdvice(name, called);
    if (advice !== undefined)
      notes.push(`The program reads ${JSON.stringify(name)} where it may be missing. ${advice}`);
  }
  return notes;
}

/** Whether a program uses a name otherwise than to ask for it: as a variable, or as a field that it makes. */
function isNamedElsewhere(source: string, name: string, language: Language): boolean {
  const before = language === "javascript" ? ["?.", "."] : ['get("', "get('"];
  for (const at of occurrences(source, name)) {
    const isWhole = !isWordAt(source, at - 1) && !isWordAt(source, at + name.length);
    if (isWhole && !before.some((mark) => source.endsWith(mark, at))) return true;
    if (isWhole && isAssigned(source, at + name.length)) return true;
  }
  return false;
}

function isWordAt(source: string, at: number): boolean {
  return /[\w$]/.test(source.charAt(at));
}

const ASSIGNMENT_LENGTH = 8;

function isAssigned(source: string, at: number): boolean {
  return /^\s{0,4}=[^=]/.test(source.slice(at, at + ASSIGNMENT_LENGTH));
}
