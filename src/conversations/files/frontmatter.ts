import { isMap, isScalar, isSeq, parseDocument, type Scalar, type YAMLSeq } from "yaml";
import { cleanText, isTexts, nearest, PortcullisError, written } from "../../base/index.ts";

/** A field of a file: text, or a list of texts. */
export interface Field {
  readonly value: string | readonly string[];
  /** From 1. */
  readonly line: number;
}

/** A Markdown file with fields before its text. */
export interface MarkdownFile {
  readonly path: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** What stands below the fields. */
  readonly text: string;
  /** Line at which `text` begins, from 1. */
  readonly textLine: number;
}

const FENCE = "---";
/** What ends a line in YAML. */
const LINE_BREAK = /\r\n|\r|\n/;
/** Fields that people read, where brackets mark what may be left out: `argument-hint: [issue] [priority]`. */
const HINTS: ReadonlySet<string> = new Set(["argument-hint"]);

/** An `option_invalid` error with a place in a file. */
export function fileError(path: string, line: number, what: string): PortcullisError {
  return new PortcullisError("option_invalid", `${shownPath(path)}:${line}: ${what}`);
}

/** A path in one line. Names of files may have line breaks, and characters that control a terminal. */
export function shownPath(path: string): string {
  return cleanText(path).replaceAll(/[\n\t]/g, written);
}

/**
 * Reads the fields before the text of a Markdown file: the part of YAML that such files have, which is texts and lists of
 * texts. Everything else is refused with its line, also a field that is not in `known`, or stands twice. A file that does
 * not begin with `---` has no fields.
 */
export function readMarkdown(path: string, source: string, known: readonly string[]): MarkdownFile {
  const lines = source.replace(/^\ufeff/, "").split(LINE_BREAK);
  const begin = lines.findIndex((line) => line.trim() !== "");
  // Taken for text, such fields would leave the text with all tools.
  if (begin > 0 && lines[begin]?.trimEnd() === FENCE)
    throw fileError(path, begin + 1, `fields begin in the first line: take out what is above ${FENCE}.`);
  if (lines[0]?.trimEnd() !== FENCE) return { path, fields: new Map(), text: lines.join("\n"), textLine: 1 };
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === FENCE);
  if (end < 0) throw fileError(path, 1, `the fields have no end: write a line ${FENCE} behind them.`);
  const fields = fieldsOf(path, lines.slice(1, end), known);
  return { path, fields, text: lines.slice(end + 1).join("\n"), textLine: end + 2 };
}

/** Lines of one field: the value behind its name, and what stands below it. */
interface Chunk {
  readonly name: string;
  readonly line: number;
  text: string;
}

function fieldsOf(path: string, lines: readonly string[], known: readonly string[]): ReadonlyMap<string, Field> {
  const chunks: Chunk[] = [];
  for (const [index, text] of lines.entries()) {
    const [, name, value = ""] = /^([A-Za-z][\w-]{0,63}):(?=\s|$)(.*)$/.exec(text) ?? [];
    const last = chunks.at(-1);
    if (name !== undefined) chunks.push({ name, line: index + 2, text: value });
    else if (last && /^(?:[\s#-]|$)/.test(text)) last.text += `\n${text}`;
    else if (!/^\s*(?:#|$)/.test(text))
      throw fileError(
        path,
        index + 2,
        "expected a field, like name: reviewer. A text of several lines stands below `name: |`.",
      );
  }
  const fields = new Map<string, Field>();
  for (const { name, line, text } of chunks) {
    if (!known.includes(name)) throw fileError(path, line, unknownField(name, known));
    const before = fields.get(name);
    if (before) throw fileError(path, line, `${name} stands twice, first in line ${before.line}.`);
    const value = valueOf(name, text);
    if (value === undefined)
      throw fileError(path, line, `${name}: expected a text or a list of texts in YAML. ${QUOTE}`);
    fields.set(name, { value, line });
  }
  return fields;
}

const QUOTE =
  "Give it a value, or leave the field out; write a value in quotes if it has a character with a meaning in YAML.";

/** Undefined for what is no text and no list of texts, is empty, or has a comment that may be meant as text: `fix issue #5`. */
function valueOf(name: string, text: string): Field["value"] | undefined {
  const line = text.trim();
  if (HINTS.has(name) && /^[[<]/.test(line)) return line;
  try {
    const { contents, errors } = parseDocument(`value:${text}`, { schema: "failsafe" });
    // People write a colon within a description.
    if (errors.length > 0)
      return errors.every(({ code }) => code === "BLOCK_AS_IMPLICIT_KEY") && !line.includes("\n") ? line : undefined;
    const node = isMap(contents) ? contents.items[0]?.value : undefined;
    if (!isSeq(node)) return textOf(node);
    const items = node.items.map(textOf);
    return isPlainNode(node) && isTexts(items) ? items : undefined;
  } catch {
    // A file may be nested deeper than the stack.
    return undefined;
  }
}

function textOf(node: unknown): string | undefined {
  const text = isScalar(node) && isPlainNode(node) && typeof node.value === "string" ? node.value.trim() : "";
  return text === "" ? undefined : text;
}

/** No anchor, tag or comment says more of it. */
function isPlainNode({ anchor, tag, comment }: Scalar | YAMLSeq): boolean {
  return anchor === undefined && tag === undefined && comment == null;
}

function unknownField(name: string, known: readonly string[]): string {
  const [meant] = nearest(name, known, 1);
  const which = meant === undefined ? "." : `, did you mean ${meant}?`;
  return `there is no field ${JSON.stringify(name)}${which} The fields are ${known.join(", ")}.`;
}
