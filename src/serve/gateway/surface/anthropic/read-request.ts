import { fieldOf, type Fields, isFields, listOf, textOf } from "../../../../base/index.ts";
import { RUN_PROGRAM } from "../../../../tools/tool-name.ts";
import type { ModelSettings, Reasoning } from "../../../../models/model.ts";
import {
  type Asked,
  type AskedTools,
  type FieldKinds,
  refused,
  RefusedAsk,
  refuseKinds,
  type AskedTool,
} from "../surface.ts";
import { readMessages } from "./read-messages.ts";
import type { Caller } from "../../../../tools/tool.ts";
import { CODE_EXECUTION_NAME, isCodeExecution } from "../../../../models/anthropic/reply.ts";

/** Fields that change nothing here: what a provider keeps, charges or counts. */
const IGNORED = "metadata service_tier inference_geo cache_control speed betas";
const READ =
  "model max_tokens messages system tools tool_choice temperature stop_sequences thinking output_config output_format stream container thread";
const KNOWN: ReadonlySet<string> = new Set(`${IGNORED} ${READ}`.split(" "));
/** Fields that the provider has, and this server does not offer. */
const NOT_OFFERED: ReadonlySet<string> = new Set(
  "mcp_servers context_management top_k top_p fallbacks skills".split(" "),
);

const KINDS: FieldKinds = {
  text: ["model"],
  flag: ["stream"],
  object: ["thinking", "output_config", "output_format"],
  list: ["tools", "messages"],
};
const EFFORTS: ReadonlySet<unknown> = new Set(["low", "medium", "high", "xhigh", "max"]);

/** Tokens of a budget for thinking below which an effort is `low`, and below which it is `medium`. */
const LOW_BUDGET = 4096;
const MEDIUM_BUDGET = 16_384;

/** Reads the body of `POST /v1/messages`. `counts`: of `count_tokens`, whose answer has no length. */
export function readRequest(body: unknown, headers: Headers, counts = false): Asked {
  if (!headers.get("anthropic-version"))
    throw new RefusedAsk({ kind: "invalid", message: "anthropic-version: header is required" });
  if (!isFields(body)) throw refused("body", "Input should be an object");
  refuseFields(body);
  refuseKinds(body, KINDS);
  const model = textOf(body, "model");
  if (!model) throw refused("model", "Field required");
  const tools = readTools(body);
  const { endsWithModel, instructions, ...history } = readMessages(body);
  const container = readContainer(body.container);
  // After `pause_turn` the content is sent back as it is, and the container need not be.
  const hasProgram = history.turns.at(-1)?.calls.some(({ type }) => type === "program_call") === true;
  if (endsWithModel && container === undefined && !hasProgram)
    throw refused("messages", "The conversation must end with a user message.");
  return {
    ...history,
    model,
    isStreamed: body.stream === true,
    instructions: joined([readSystem(body.system), ...instructions]),
    settings: readSettings(body, tools, counts),
    ...tools,
    state: container,
    echo: {},
  };
}

function refuseFields(body: Fields): void {
  for (const [name, value] of Object.entries(body)) {
    if (KNOWN.has(name)) continue;
    const shown = name.slice(0, 100);
    if (!NOT_OFFERED.has(name)) throw refused(shown, "Extra inputs are not permitted");
    if (value !== null && !(Array.isArray(value) && value.length === 0))
      throw refused(shown, "this server does not offer it");
  }
  // Clients send the whole history again if they are told so.
  if (body.thread !== undefined && body.thread !== null)
    throw new RefusedAsk({
      kind: "invalid",
      place: "thread",
      code: "thread_unsupported_request",
      message: "thread: this server does not offer it: send the whole history.",
    });
}

function readContainer(container: unknown): string | undefined {
  if (container === undefined || container === null) return undefined;
  const id = typeof container === "string" ? container : textOf(container, "id");
  if (listOf(container, "skills").length > 0) throw refused("container.skills", "this server does not offer it");
  if (id === undefined && !isFields(container)) throw refused("container", "Input should be a valid string");
  return id;
}

function readSystem(system: unknown): string | undefined {
  if (system === undefined || system === null) return undefined;
  const blocks = typeof system === "string" ? [{ type: "text", text: system }] : system;
  if (!Array.isArray(blocks)) throw refused("system", "Input should be a valid string or a list of text blocks");
  const texts = (blocks as readonly unknown[]).map((block, index) => {
    const text = textOf(block, "text");
    if (fieldOf(block, "type") !== "text" || text === undefined)
      throw refused(`system.${index}`, "Input should be a text block");
    return text;
  });
  return joined(texts);
}

function joined(texts: readonly (string | undefined)[]): string | undefined {
  const whole = texts.filter((text) => text !== undefined).join("\n\n");
  return whole.trim() === "" ? undefined : whole;
}

function readSettings(body: Fields, tools: AskedTools, counts: boolean): ModelSettings {
  const { max_tokens: maxOutputTokens, temperature, stop_sequences: stop } = body;
  if (!counts && !(Number.isSafeInteger(maxOutputTokens) && Number(maxOutputTokens) > 0))
    throw refused("max_tokens", "Input should be a whole number greater than 0");
  if (temperature !== undefined && !(typeof temperature === "number" && temperature >= 0 && temperature <= 1))
    throw refused("temperature", "range: 0..1");
  if (stop !== undefined && !(Array.isArray(stop) && stop.every((one) => typeof one === "string" && one.trim() !== "")))
    throw refused("stop_sequences", "each stop sequence must contain non-whitespace");
  const reasoning = readReasoning(body);
  const answer = readFormat(body);
  return {
    ...readChoice(body, tools),
    ...(typeof maxOutputTokens === "number" ? { maxOutputTokens } : {}),
    ...(typeof temperature === "number" ? { temperature } : {}),
    ...(Array.isArray(stop) && stop.length > 0 ? { stop: stop as readonly string[] } : {}),
    ...(reasoning ? { reasoning } : {}),
    ...(answer ? { answer } : {}),
  };
}

function readReasoning({ thinking, output_config: config }: Fields): Reasoning | undefined {
  const type = textOf(thinking, "type");
  const effort = fieldOf(config, "effort") ?? undefined;
  if (effort !== undefined && !EFFORTS.has(effort))
    throw refused("output_config.effort", `Input should be one of ${[...EFFORTS].join(", ")}`);
  if (thinking !== undefined && !["adaptive", "enabled", "disabled", "between_tools"].includes(type ?? ""))
    throw refused("thinking.type", "Input should be 'adaptive', 'enabled', 'disabled' or 'between_tools'");
  if (type === "disabled") return undefined;
  const display = fieldOf(thinking, "display");
  if (display !== undefined && display !== null && display !== "summarized" && display !== "omitted")
    throw refused("thinking.display", "Input should be 'summarized' or 'omitted'");
  const shown = thinking === undefined || display === "omitted" ? {} : { summary: true };
  if (effort !== undefined) return { effort: effort === "low" || effort === "medium" ? effort : "high", ...shown };
  const budget = fieldOf(thinking, "budget_tokens");
  if (budget !== undefined && !(Number.isSafeInteger(budget) && Number(budget) > 0))
    throw refused("thinking.budget_tokens", "Input should be a whole number greater than 0");
  if (typeof budget === "number")
    return { effort: budget < LOW_BUDGET ? "low" : budget < MEDIUM_BUDGET ? "medium" : "high", ...shown };
  return thinking === undefined ? undefined : { effort: "medium", ...shown };
}

function readFormat({ output_config: config, output_format: early }: Fields): ModelSettings["answer"] {
  const format = fieldOf(config, "format") ?? early;
  if (format === undefined || format === null) return undefined;
  const schema = fieldOf(format, "schema");
  if (textOf(format, "type") !== "json_schema" || !isFields(schema))
    throw refused("output_config.format", "Input should be { type: 'json_schema', schema }");
  return schema;
}

/** Versions of the tool that runs programs which call tools. */
const PROGRAM_TYPES: ReadonlySet<unknown> = new Set([
  "code_execution_20250825",
  "code_execution_20260120",
  "code_execution_20260521",
]);

const SEARCH_TYPE = /^tool_search_tool_(?:regex|bm25)(?:_\d{8})?$/;

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** The tools of a request. What this server does not have is refused by its type. */
function readTools(body: unknown): AskedTools {
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
  return { name, description, inputSchema: input, callers, isDeferred: tool.defer_loading === true, place };
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

/** `run_program` stands for the program tool of the provider. */
function readChoice(
  body: unknown,
  { tools, programs }: AskedTools,
): Pick<ModelSettings, "toolChoice" | "parallelCalls"> {
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
      if (programs && name === CODE_EXECUTION_NAME) return { toolChoice: { tool: RUN_PROGRAM }, ...one };
      if (tools.some((tool) => tool.name === name)) return { toolChoice: { tool: String(name) }, ...one };
      throw refused("tool_choice", `Tool '${String(name).slice(0, 128)}' not found in provided tools`);
    default:
      throw refused("tool_choice", "Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'");
  }
}
