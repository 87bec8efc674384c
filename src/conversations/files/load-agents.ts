import { readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  object,
  type OptionsOf,
  pick,
  PortcullisError,
  readOptions,
  required,
  type CheckedOptions,
  withDefault,
} from "../../base/index.ts";
import type { Model } from "../../models/model.ts";
import type { ModelName } from "../../models/model-name.ts";
import { toolNameFault } from "../../tools/tool-name.ts";
import { TOOLS, ToolSet } from "../../tools/tool-set.ts";
import type { Tool } from "../../tools/tool.ts";
import { AGENT_TOOL_RULES, agentAsTool, INHERIT } from "../as-tools/agent-as-tool.ts";
import { MODEL } from "../agent-options.ts";
import { type AgentFile, type AgentModels, readAgentFile } from "./agent-file.ts";

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
