import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import {
  cleanText,
  orMeant,
  parsedJson,
  PortcullisError,
  written,
  object,
  type OptionsOf,
  pick,
  readOptions,
  required,
  type CheckedOptions,
  withDefault,
} from "../../base/index.ts";
import type { Model } from "../../models/model.ts";
import { isModelName, MODEL_NAMES, type ModelName } from "../../models/model-name.ts";
import { isMeantBy, toolNameFault } from "../../tools/tool-name.ts";
import type { Tool } from "../../tools/tool.ts";
import { INHERIT, AGENT_TOOL_RULES, agentAsTool } from "../as-tools/agent-as-tool.ts";
import { join } from "node:path";
import { TOOLS, ToolSet } from "../../tools/tool-set.ts";
import { MODEL } from "../agent-options.ts";

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

  constructor(path: string, file: MarkdownFile) {
    this.path = path;
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
      const toolNames = tools.map((tool) => tool.name);
      throw this.at(
        "tools",
        `there is no tool ${JSON.stringify(name.slice(0, 200))} that an agent may have${orMeant(name, toolNames)} A file can only leave tools out.`,
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
  const bytes = await readBounded(path).catch((cause: unknown) => {
    const { code = String(cause) } = cause as NodeJS.ErrnoException;
    throw refused(code === "ENOENT" ? "there is no such file" : `it cannot be read: ${code}`, cause);
  });
  if (!bytes) throw refused("it is no regular file");
  if (bytes.length > FILE_BYTES) throw refused(`it has more than ${FILE_BYTES} bytes`);
  if (!isUtf8(bytes)) throw refused("it is no text in UTF-8");
  return new AgentFile(path, readMarkdown(path, bytes.toString("utf8")));
}

/** Reads a regular file, and of a larger one a byte more than may be; undefined for any other: it may never end, or never begin. */
async function readBounded(path: string): Promise<Buffer | undefined> {
  await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  if (!(await file.stat()).isFile()) return undefined;
  return Buffer.concat(await Array.fromAsync<Buffer>(file.createReadStream({ end: FILE_BYTES, autoClose: false })));
}

// ---- fields before the text ------------------------------------------------------------------------------------

interface Field {
  readonly value: string | readonly string[];
  /** From 1. */
  readonly line: number;
}

interface MarkdownFile {
  readonly fields: ReadonlyMap<string, Field>;
  readonly text: string;
  /** Line at which `text` begins, from 1. */
  readonly textLine: number;
}

const FENCE = "---";
/** What ends a line in YAML. */
const LINE_BREAK = /\r\n|\r|\n/;
/** What a plain value cannot begin with: YAML gives these characters a meaning that is not read here. */
const RESERVED = new Set("{&*!%@`#?,]}[\"'");

function fileError(path: string, line: number, what: string): PortcullisError {
  return new PortcullisError("option_invalid", `${shownPath(path)}:${line}: ${what}`);
}

/** A path in one line. Names of files may have line breaks, and characters that control a terminal. */
function shownPath(path: string): string {
  return cleanText(path).replaceAll(/[\n\t]/g, written);
}

/**
 * Reads the fields before the text of a Markdown file: the part of YAML that such files have, which is texts and lists of
 * texts. Everything else is refused with its line, also a field that no agent has, or that stands twice. A file that does
 * not begin with `---` has no fields.
 */
export function readMarkdown(path: string, source: string): MarkdownFile {
  const lines = source.replace(/^\ufeff/, "").split(LINE_BREAK);
  const begin = lines.findIndex((line) => line.trim() !== "");
  // Taken for text, such fields would leave the text with all tools.
  if (begin > 0 && lines[begin]?.trimEnd() === FENCE)
    throw fileError(path, begin + 1, `fields begin in the first line: take out what is above ${FENCE}.`);
  if (lines[0]?.trimEnd() !== FENCE) return { fields: new Map(), text: lines.join("\n"), textLine: 1 };
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === FENCE);
  if (end < 0) throw fileError(path, 1, `the fields have no end: write a line ${FENCE} behind them.`);
  const fields = readFields(path, lines.slice(1, end));
  return { fields, text: lines.slice(end + 1).join("\n"), textLine: end + 2 };
}

function readFields(path: string, lines: readonly string[]): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>();
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    // Also the fence counts.
    const number = at + 2;
    const error = (what: string) => fileError(path, number, what);
    at += 1;
    if (isBlank(line)) continue;
    const [, name = "", text = ""] = /^([A-Za-z][\w-]{0,63}):(?=\s|$)(.*)$/s.exec(line) ?? [];
    if (name === "")
      throw error("expected a field, like name: reviewer. A text of several lines goes below `name: |`.");
    if (!(FIELDS as readonly string[]).includes(name))
      throw error(
        `there is no field ${JSON.stringify(name)}${orMeant(name, FIELDS)} The fields are ${FIELDS.join(", ")}.`,
      );
    const before = fields.get(name);
    if (before) throw error(`${name} is given twice, first in line ${before.line}.`);
    const isBlock = /^[|>][+-]?$/.test(text.trim());
    const belongs = isBlock ? /^(?:\s|$)/ : text.trim() === "" ? /^(?:\s*-(?:\s|$)|\s*(?:#|$))/ : /(?!)/;
    const from = at;
    while (at < lines.length && belongs.test(lines[at] ?? "")) at += 1;
    const below = lines.slice(from, at);
    const fault = (what: string) => error(`${name} ${what}`);
    fields.set(name, { value: valueOf(text.trim(), below, fault), line: number });
  }
  return fields;
}

/** The value of a field: what stands beside its name, or the lines below it. */
function valueOf(text: string, below: readonly string[], fault: (what: string) => PortcullisError): Field["value"] {
  if (/^[|>][+-]?$/.test(text)) {
    const block = below.map((line) => line.trim()).join(text.startsWith("|") ? "\n" : " ");
    if (block.trim() === "") throw fault("has no text below it: indent its lines.");
    return block.trim();
  }
  if (text === "") {
    const items = below.filter((line) => !isBlank(line)).map((line) => textIn(line.trim().slice(1).trim(), fault));
    if (items.length === 0) throw fault("has no value: give one, or leave the field out.");
    return items;
  }
  if (!text.startsWith("[") || !text.endsWith("]")) return textIn(text, fault);
  const inner = text.slice(1, -1).trim();
  return inner === "" ? [] : inner.split(",").map((item) => textIn(item.trim(), fault));
}

function textIn(text: string, fault: (what: string) => PortcullisError): string {
  if (/^'(?:[^']|'')*'$/.test(text)) return text.slice(1, -1).replaceAll("''", "'");
  const quoted = text.startsWith('"') ? parsedJson(text) : undefined;
  if (typeof quoted === "string") return quoted;
  if (text === "") throw fault("has an empty item: give it a value, or leave it out.");
  if (!RESERVED.has(text.charAt(0)) && !text.includes(" #")) return text;
  throw fault(
    "has a character with a meaning in YAML: write the value in quotes that close at the end of the line, with escapes of JSON.",
  );
}

function isBlank(line: string): boolean {
  return /^\s*(?:#|$)/.test(line);
}

const SUBJECT = "loadAgents";
/** Most files of one folder. */
const MAX_FILES = 1000;

export const LOAD_AGENTS_RULES = {
  /** The tools that agents may have. A file can leave tools out, and add none. */
  tools: required(TOOLS),
  /** Which callers may call the agents. There is no default. */
  allowedCallers: AGENT_TOOL_RULES.allowedCallers,
  /** The model of agents whose files name none; `"inherit"` by default, the model of the conversation that calls. */
  model: withDefault({ ...AGENT_TOOL_RULES.model, presence: "optional" as const }, INHERIT),
  /**
   * Models by the names that files have for them, like `{ fast: "anthropic:NAME" }`. A file can then name no other model;
   * without it, a file can name any model of a provider.
   */
  models: object<AgentModels>("an object of models, or of their names"),
  ...pick(AGENT_TOOL_RULES, "fallbacks", "loop", "concurrency", "timeoutMs"),
};

export type LoadAgentsOptions<Context = unknown> = Omit<OptionsOf<typeof LOAD_AGENTS_RULES>, "tools"> & {
  /** The tools that agents may have. A file can leave tools out, and add none. */
  readonly tools: readonly Tool<Context>[];
};

/**
 * The agents of a folder: one tool for each of its files `*.md`, in the order of their names. The fields `name` and
 * `description` are required, the text below them is the agent's instructions. Rejects with `option_invalid`, with file
 * and line, for a file that cannot be read as an agent.
 */
export async function loadAgents<Context = unknown>(
  folder: string,
  options: LoadAgentsOptions<Context>,
): Promise<readonly Tool<Context>[]> {
  const read = readOptions(SUBJECT, options, LOAD_AGENTS_RULES);
  const { all } = new ToolSet(read.tools, `${SUBJECT}({ tools })`);
  checkModels(read.models);
  const files: AgentFile[] = [];
  for (const path of await listFiles(folder)) files.push(await readAgentFile(path));
  const named = new Map<string, AgentFile>();
  for (const file of files) {
    const name = nameOf(file);
    const before = named.get(name);
    if (before) throw file.at("name", `${before.path} has an agent ${name} already: rename one.`);
    named.set(name, file);
  }
  return [...named].map(([name, file]) => agentOf(name, file, { ...read, tools: all }));
}

function agentOf(
  name: string,
  file: AgentFile,
  { model, models, tools, ...shared }: CheckedOptions<typeof LOAD_AGENTS_RULES>,
): Tool {
  return agentAsTool({
    ...shared,
    name,
    description: file.required("description"),
    model: file.modelFrom(models) ?? model,
    tools: file.narrow(tools),
    instructions: file.requiredText("what the agent reads before its task"),
  });
}

/** Name of the agent as a tool: files write names with hyphens, programs cannot. */
function nameOf(file: AgentFile): string {
  const name = file.required("name").replaceAll("-", "_");
  const fault = toolNameFault(name);
  if (fault !== undefined) throw file.at("name", `this name cannot be used: ${fault}.`);
  return name;
}

function checkModels(models: AgentModels | undefined): void {
  for (const [name, model] of Object.entries<Model | ModelName>(models ?? {}))
    if (name === INHERIT || !MODEL.accepts(model))
      throw new PortcullisError(
        "option_invalid",
        `${SUBJECT}({ models: { ${name} } }): expected ${MODEL.expected}${name === INHERIT ? ", and another name for it" : ""}.`,
      );
}

async function listFiles(folder: string): Promise<readonly string[]> {
  const invalid = (why: string, cause?: unknown) =>
    new PortcullisError("option_invalid", `${SUBJECT}(folder): ${JSON.stringify(folder)} ${why}.`, { cause });
  if (typeof folder !== "string" || folder === "") throw invalid("is no path of a folder");
  let names: readonly string[];
  try {
    names = await readdir(folder);
  } catch (cause) {
    throw invalid("is no folder that can be read", cause);
  }
  const files = names.filter((name) => name.endsWith(".md")).toSorted();
  if (files.length === 0) throw invalid("has no files *.md");
  if (files.length > MAX_FILES) throw invalid(`has ${files.length} files *.md, at most ${MAX_FILES} are read`);
  return files.map((name) => join(folder, name));
}
