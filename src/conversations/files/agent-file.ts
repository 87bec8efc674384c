import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { orMeant, PortcullisError } from "../../base/index.ts";
import type { Model } from "../../models/model.ts";
import { isModelName, MODEL_NAMES, type ModelName } from "../../models/model-name.ts";
import { isMeantBy } from "../../tools/tool-name.ts";
import type { Tool } from "../../tools/tool.ts";
import { INHERIT } from "../as-tools/agent-as-tool.ts";
import { fileError, type MarkdownFile, readMarkdown, shownPath } from "./frontmatter.ts";

/** Bytes of the longest file. */
const FILE_BYTES = 256 * 1024;
const FIELDS = ["name", "description", "tools", "model", "color"] as const;
type FieldName = (typeof FIELDS)[number];

/** Models by the names that files have for them. */
export type AgentModels = Readonly<Record<string, Model | ModelName>>;

/** A file of an agent: fields, and the text below them. */
export class AgentFile {
  readonly path: string;
  readonly text: string;
  readonly #file: MarkdownFile;

  constructor(file: MarkdownFile) {
    this.path = file.path;
    this.text = file.text.trim();
    this.#file = file;
    this.field("color");
  }

  /** A field that is one text. Throws `option_invalid` for a list. */
  field(name: FieldName): string | undefined {
    const value = this.#file.fields.get(name)?.value;
    if (value === undefined || typeof value === "string") return value;
    throw this.at(name, `${name} is one text, and no list.`);
  }

  /** Throws `option_invalid` if the field is missing, or empty. */
  required(name: FieldName): string {
    const value = this.field(name);
    if (value !== undefined && value.trim() !== "") return value;
    throw this.at(name, `the file has no ${name}: write a line ${name}: … between the lines --- at its beginning.`);
  }

  /** The text below the fields. Throws `option_invalid` if there is none. */
  requiredText(what: string): string {
    if (this.text !== "") return this.text;
    throw fileError(this.path, this.#file.textLine, `there is no text below the fields: ${what}.`);
  }

  /** Those of the tools that the file names; all if it names none. Throws `option_invalid` for a name that no tool has. */
  narrow(tools: readonly Tool[]): readonly Tool[] {
    const value = this.#file.fields.get("tools")?.value;
    if (value === undefined) return tools;
    const names = typeof value === "string" ? value.split(",").map((name) => name.trim()) : value;
    if (names.includes("")) throw this.at("tools", "an item of tools is empty.");
    for (const name of names) {
      if (tools.some((tool) => isMeantBy(name, tool.name))) continue;
      const known = tools.map((tool) => tool.name);
      throw this.at(
        "tools",
        `there is no tool ${JSON.stringify(name.slice(0, 200))} that an agent may have${orMeant(name, known)} A file can only leave tools out.`,
      );
    }
    return tools.filter((tool) => names.some((name) => isMeantBy(name, tool.name)));
  }

  /**
   * The model that the file names: one of `models` if there are any, else a provider's; undefined if it names none. Throws
   * `option_invalid` for another name.
   */
  modelFrom(models?: AgentModels): Model | ModelName | typeof INHERIT | undefined {
    const model = this.field("model");
    if (model === undefined || model === INHERIT) return model;
    if (models && Object.hasOwn(models, model)) return models[model];
    if (!models && isModelName(model)) return model;
    const expected = models ? [INHERIT, ...Object.keys(models)].join(", ") : `${INHERIT}, ${MODEL_NAMES}`;
    throw this.at("model", `expected a model, one of ${expected}; got ${JSON.stringify(model.slice(0, 200))}.`);
  }

  at(name: FieldName, what: string): PortcullisError {
    return fileError(this.path, this.#file.fields.get(name)?.line ?? 1, what);
  }
}

/** Reads a file. Rejects with `option_invalid`, with the place in it. */
export async function readAgentFile(path: string): Promise<AgentFile> {
  const refused = (why: string, cause?: unknown) =>
    new PortcullisError("option_invalid", `${shownPath(path)}: ${why}.`, { cause });
  let read: { readonly bytes: Buffer } | { readonly fault: string };
  try {
    read = await readBounded(path);
  } catch (cause) {
    const { code = String(cause) } = cause as NodeJS.ErrnoException;
    throw refused(code === "ENOENT" ? "there is no such file" : `it cannot be read: ${code}`, cause);
  }
  if ("fault" in read) throw refused(read.fault);
  if (!isUtf8(read.bytes)) throw refused("it is no text in UTF-8");
  return new AgentFile(readMarkdown(path, read.bytes.toString("utf8"), FIELDS));
}

/** Reads a regular file, and no more than its bound. What is none may never end, or never begin. */
async function readBounded(path: string): Promise<{ readonly bytes: Buffer } | { readonly fault: string }> {
  await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const found = await file.stat();
  if (found.isDirectory()) return { fault: "it is a folder, and no file" };
  if (!found.isFile()) return { fault: "it is no regular file" };
  if (found.size > FILE_BYTES) return { fault: `it has ${found.size} bytes, at most ${FILE_BYTES} are read` };
  const bytes = Buffer.alloc(FILE_BYTES + 1);
  let length = 0;
  for (let more = 1; more > 0; length += more)
    more = (await file.read(bytes, length, bytes.length - length, length)).bytesRead;
  if (length > FILE_BYTES) return { fault: `it has more bytes than it says, at most ${FILE_BYTES} are read` };
  return { bytes: bytes.subarray(0, length) };
}
