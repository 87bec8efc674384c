import type { Caller } from "../../../../tools/tool.ts";
import { fieldOf, type Fields, isFields, listOf, textOf } from "../../../../base/index.ts";
import type { ToolChoice } from "../../../../models/model.ts";
import { type AskedTool, type AskedTools, refused } from "../surface.ts";
import { CODE_EXECUTION_NAME, isCodeExecution } from "../../../../models/anthropic/reply.ts";

/** Versions of the tool that runs programs which call tools. */
const PROGRAM_TYPES: ReadonlySet<unknown> = new Set([
  "code_execution_20250825",
  "code_execution_20260120",
  "code_execution_20260521",
]);

const SEARCH_TYPE = /^tool_search_tool_(?:regex|bm25)(?:_\d{8})?$/;

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** The tools of a request. What this server does not have is refused by its type. */
export function readTools(body: unknown): AskedTools {
  const given = fieldOf(body, "tools") ?? [];
  if (!Array.isArray(given)) throw refused("tools", "Input should be a valid list");
  const tools: AskedTool[] = [];
  let programs = false;
  let searches = false;
  for (const [index, tool] of (given as readonly unknown[]).entries()) {
    const place = `tools.${index}`;
    if (!isFields(tool)) throw refused(place, "Input should be an object");
    const type = tool.type ?? "custom";
    if (PROGRAM_TYPES.has(type)) programs = true;
    else if (typeof type === "string" && SEARCH_TYPE.test(type)) searches = true;
    else if (type === "custom") tools.push(readTool(tool, place));
    else {
      const name = typeof type === "string" ? `"${type.slice(0, 100)}"` : "this type";
      const offered = "custom tools, code_execution_20260120 and tool_search_tool_*";
      throw refused(`${place}.type`, `this server does not offer ${name}: it offers ${offered}`);
    }
  }
  refuseTogether(tools, programs, searches);
  return { tools, programs };
}

function readTool(tool: Fields, place: string): AskedTool {
  const { name, description = "", input_schema: input } = tool;
  if (typeof name !== "string" || !NAME.test(name))
    throw refused(`${place}.custom.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
  if (typeof description !== "string") throw refused(`${place}.custom.description`, "Input should be a valid string");
  if (!isFields(input)) throw refused(`${place}.custom.input_schema`, "Field required");
  if (input.type !== "object") throw refused(`${place}.custom.input_schema.type`, "Input should be 'object'");
  const callers = readCallers(tool, place);
  if (tool.strict === true && callers.includes("programmatic"))
    throw refused(`${place}.custom.strict`, "strict is not supported for tools that code_execution may call");
  return { name, description, input, callers, isDeferred: tool.defer_loading === true, place };
}

function readCallers(tool: Fields, place: string): readonly Caller[] {
  const given = tool.allowed_callers ?? ["direct"];
  if (!Array.isArray(given) || given.length === 0)
    throw refused(`${place}.allowed_callers`, "Input should be a list with at least one caller");
  const callers = (given as readonly unknown[]).map((caller): Caller => {
    if (caller === "direct") return "direct";
    if (typeof caller === "string" && isCodeExecution(caller)) return "programmatic";
    throw refused(`${place}.allowed_callers`, "Input should be 'direct' or 'code_execution_20260120'");
  });
  return [...new Set(callers)];
}

function refuseTogether(tools: readonly AskedTool[], programs: boolean, searches: boolean): void {
  const names = new Set<string>();
  for (const { name, callers, place, isDeferred } of tools) {
    if (names.has(name) || (programs && name === CODE_EXECUTION_NAME))
      throw refused("tools", `Tool names must be unique: ${name}`);
    names.add(name);
    if (!programs && callers.includes("programmatic"))
      throw refused(`${place}.allowed_callers`, "a code_execution tool must be among the tools");
    if (isDeferred && !searches) throw refused(`${place}.defer_loading`, "a tool_search_tool must be among the tools");
  }
  if (tools.length > 0 && searches && !programs && tools.every(({ isDeferred }) => isDeferred))
    throw refused("tools", "At least one tool must have defer_loading=false");
}

export interface AskedChoice {
  readonly toolChoice?: ToolChoice;
  readonly parallelCalls?: boolean;
}

/** `run_program` stands for the program tool of the provider. */
export function readChoice(body: unknown, { tools, programs }: AskedTools, runProgram: string): AskedChoice {
  const choice = fieldOf(body, "tool_choice");
  if (choice === undefined || choice === null) return {};
  const name = textOf(choice, "name");
  const one = fieldOf(choice, "disable_parallel_tool_use") === true ? { parallelCalls: false } : {};
  if (listOf(body, "tools").length === 0) throw refused("tool_choice", "may only be specified while providing tools");
  switch (textOf(choice, "type")) {
    case "auto":
      return one;
    case "any":
      return { toolChoice: "required", ...one };
    case "none":
      return { toolChoice: "none" };
    case "tool":
      if (programs && name === CODE_EXECUTION_NAME) return { toolChoice: { tool: runProgram }, ...one };
      if (tools.some((tool) => tool.name === name)) return { toolChoice: { tool: String(name) }, ...one };
      throw refused("tool_choice", `Tool '${String(name).slice(0, 128)}' not found in provided tools`);
    default:
      throw refused("tool_choice", "Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'");
  }
}
