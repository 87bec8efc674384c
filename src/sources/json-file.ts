import type { Node, ParseError } from "jsonc-parser";
import { readFile } from "node:fs/promises";
import { PortcullisError } from "../base/index.ts";

const FILE_BYTES = 1024 * 1024;
const LEVELS = 50;

/**
 * The value of a JSON file. Comments and trailing commas are allowed, as editors allow them. Rejects with `option_invalid`
 * for a file that is missing, larger than a megabyte or no JSON, and for a key that stands twice: its first value would be
 * lost silently.
 */
export async function readJsonFile(path: string): Promise<unknown> {
  const text = (await readFileText(path, path, FILE_BYTES)).replace(/^\ufeff/, "");
  // Loaded with the first file: a bundler cannot follow what the package loads by itself.
  const { parseTree, printParseErrorCode } = await import("jsonc-parser");
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(text, errors, { allowTrailingComma: true });
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw invalidFile(path, `it is nested more than ${LEVELS} levels deep`);
  }
  const [error] = errors;
  if (error || !root) {
    const what = error ? printParseErrorCode(error.error) : "it is empty";
    throw invalidFile(path, `it is not JSON: ${what} ${placeIn(text, error?.offset ?? 0)}`);
  }
  return valueOf(path, text, root, LEVELS);
}

function valueOf(path: string, text: string, node: Node, levels: number): unknown {
  if (levels === 0) throw invalidFile(path, `it is nested more than ${LEVELS} levels deep`);
  const { type, children = [], value } = node;
  if (type === "array") return children.map((child) => valueOf(path, text, child, levels - 1));
  if (type !== "object") return value as unknown;
  const fields = new Map<string, unknown>();
  for (const property of children) {
    const [key, field] = property.children as [Node, Node?];
    const name = String(key.value);
    if (fields.has(name))
      throw invalidFile(
        path,
        `the key ${JSON.stringify(name.slice(0, 128))} is given twice, again ${placeIn(text, key.offset)}`,
      );
    fields.set(name, field && valueOf(path, text, field, levels - 1));
  }
  // Unlike an assignment, this makes a field of any name, `__proto__` too.
  return Object.fromEntries(fields);
}

function placeIn(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `in line ${before.length}, column ${before.at(-1)!.length + 1}`;
}

/** The text of a file with at most `maxBytes`. Rejects with `option_invalid`, whose message begins with `place`. */
export async function readFileText(place: string, path: string, maxBytes: number): Promise<string> {
  const file = place === path ? "it" : path;
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const missing = place === path ? "there is no such file" : `there is no file ${path}`;
    throw invalidFile(place, code === "ENOENT" ? missing : `${file} cannot be read: ${message}`);
  }
  if (bytes.length > maxBytes)
    throw invalidFile(place, `${file} has ${bytes.length} bytes, at most ${maxBytes} are read`);
  return bytes.toString("utf8");
}

export function invalidFile(place: string, what: string): PortcullisError {
  return new PortcullisError("option_invalid", `${place}: ${what}.`);
}
