import { type Fields, withoutUndefined, isFields, listOf, textOf } from "../../../../base/index.ts";
import { CODE_EXECUTION_NAME, CODE_EXECUTION_TYPE, isCodeExecution } from "../../../../models/anthropic/reply.ts";
import type { ModelSettings, ToolChoice } from "../../../../models/model.ts";
import { RUN_PROGRAM } from "../../../../tools/tool-name.ts";
import {
  answerSchema,
  callersOf,
  field,
  joinTexts,
  readFields,
  readTools,
  reasoningOf,
  refuseUnknown,
  type ToolForm,
} from "../request-fields.ts";
import { type SurfaceRequest, type AskedTools, invalidField, RefusedAsk } from "../surface.ts";
import { readMessages } from "./read-messages.ts";

const FIELDS = {
  ...field.all(field.any, "metadata service_tier inference_geo cache_control speed betas"),
  ...field.all(field.notOffered, "mcp_servers context_management top_k top_p fallbacks skills"),
  // Clients send the whole history again if they are told so.
  thread: { ...field.notOffered, code: "thread_unsupported_request" },
  model: field.name,
  max_tokens: field.count,
  messages: field.list,
  system: field.rule<string | readonly Fields[]>(
    "a string or a list of text blocks",
    (value) =>
      typeof value === "string" ||
      (Array.isArray(value) &&
        value.every((one) => textOf(one, "type") === "text" && textOf(one, "text") !== undefined)),
  ),
  tools: field.list,
  tool_choice: field.any,
  temperature: field.upTo(1),
  stop_sequences: field.rule<readonly string[]>(
    "a list of strings that are not blank",
    (value) => Array.isArray(value) && value.every((one) => typeof one === "string" && one.trim() !== ""),
  ),
  stream: field.flag,
  container: field.rule<string | Fields>(
    "a string, without skills",
    (value) => typeof value === "string" || (isFields(value) && listOf(value, "skills").length === 0),
  ),
  thinking: field.rule<Fields>("an object with its type", (value) => textOf(value, "type") !== undefined),
  "thinking.type": field.oneOf("adaptive enabled disabled between_tools"),
  "thinking.display": field.oneOf("summarized omitted"),
  "thinking.budget_tokens": field.count,
  output_config: field.object,
  "output_config.effort": field.oneOf("low medium high xhigh max"),
  "output_config.format": field.format,
  output_format: field.format,
};

/** Tokens of a budget for thinking below which an effort is `low`, and below which it is `medium`. */
const LOW_BUDGET = 4096;
const MEDIUM_BUDGET = 16_384;

/** Reads the body of `POST /v1/messages`. `counts`: of `count_tokens`, whose answer has no length. */
export function readRequest(body: unknown, headers: Headers, counts = false): SurfaceRequest {
  if (!headers.get("anthropic-version"))
    throw new RefusedAsk({ kind: "invalid", message: "anthropic-version: header is required" });
  refuseUnknown(body, FIELDS);
  const read = readFields(body, FIELDS, counts ? "model messages" : "model max_tokens messages");
  const { model = "", messages = [], system, container } = read;
  const tools = readTools(read.tools ?? [], TOOLS);
  if (tools.tools.length > 0 && !tools.programs && tools.tools.every(({ isDeferred }) => isDeferred))
    throw invalidField("tools", "at least one tool must have defer_loading=false");
  const { endsWithModel, instructions, ...history } = readMessages(messages);
  // After `pause_turn` the content is sent back as it is, and the container need not be.
  const hasProgram = history.turns.at(-1)?.calls.some(({ type }) => type === "program_call") === true;
  if (endsWithModel && container === undefined && !hasProgram)
    throw invalidField("messages", "The conversation must end with a user message.");
  const systemTexts = typeof system === "string" ? [system] : (system ?? []).map((block) => String(block.text));
  return {
    ...history,
    ...tools,
    model,
    isStreamed: read.stream === true,
    instructions: joinTexts([...systemTexts, ...instructions]),
    settings: readSettings(read, tools),
    state: typeof container === "string" ? container : textOf(container, "id"),
    echo: {},
  };
}

function readSettings(read: ReturnType<typeof readFields<typeof FIELDS>>, tools: AskedTools): ModelSettings {
  const { tool_choice: choice, thinking, stop_sequences: stop = [], "thinking.budget_tokens": budget } = read;
  const early = thinking && (budget === undefined || budget >= LOW_BUDGET ? "medium" : "low");
  const byBudget = budget !== undefined && budget >= MEDIUM_BUDGET ? "high" : early;
  const effort = read["output_config.effort"] ?? byBudget;
  const isShown = thinking !== undefined && read["thinking.display"] !== "omitted";
  return withoutUndefined({
    toolChoice: readChoice(choice, tools, read.tools ?? []),
    parallelCalls: isFields(choice) && choice.disable_parallel_tool_use === true ? false : undefined,
    maxOutputTokens: read.max_tokens,
    temperature: read.temperature,
    stop: stop.length > 0 ? stop : undefined,
    reasoning: read["thinking.type"] === "disabled" ? undefined : reasoningOf(effort, isShown),
    answer: answerSchema(read["output_config.format"] ?? read.output_format),
  });
}

/** `run_program` stands for the program tool of the provider. */
function readChoice(choice: unknown, { tools, programs }: AskedTools, definitions: readonly unknown[]) {
  if (choice === undefined) return undefined;
  if (definitions.length === 0) throw invalidField("tool_choice", "may only be specified while providing tools");
  const [type, name] = [textOf(choice, "type"), textOf(choice, "name")];
  const plain: Readonly<Record<string, ToolChoice | undefined>> = { any: "required", none: "none", auto: undefined };
  if (type !== undefined && Object.hasOwn(plain, type)) return plain[type];
  if (type !== "tool") throw invalidField("tool_choice", "expected the type auto, any, tool or none");
  if (programs && name === CODE_EXECUTION_NAME) return { tool: RUN_PROGRAM };
  if (name !== undefined && tools.some((tool) => tool.name === name)) return { tool: name };
  throw invalidField("tool_choice", `Tool '${String(name).slice(0, 128)}' not found in provided tools`);
}

/** Versions of the tool that runs programs which call tools. */
const PROGRAM_TYPES: ReadonlySet<unknown> = new Set([
  "code_execution_20250825",
  "code_execution_20260120",
  "code_execution_20260521",
]);

const TOOL = {
  name: field.named(128),
  description: field.text,
  input_schema: field.schema,
  allowed_callers: field.callers(CODE_EXECUTION_TYPE, isCodeExecution),
};

const TOOLS: ToolForm = {
  placeOf: (index) => `tools.${index}`,
  programs: CODE_EXECUTION_NAME,
  searches: "tool_search_tool_*",
  take: (tool, place) => {
    const type = tool.type ?? "custom";
    if (PROGRAM_TYPES.has(type)) return "programs";
    if (/^tool_search_tool_(?:regex|bm25)(?:_\d{8})?$/.test(textOf({ type }, "type") ?? "")) return "searches";
    if (type !== "custom") return undefined;
    const {
      name = "",
      description = "",
      input_schema: inputSchema = {},
      ...read
    } = readFields(tool, TOOL, "name input_schema", place);
    const callers = callersOf(read.allowed_callers);
    if (tool.strict === true && callers.includes("programmatic"))
      throw invalidField(`${place}.strict`, `a tool that ${CODE_EXECUTION_NAME} may call cannot be strict`);
    return [{ name, description, inputSchema, callers, isDeferred: tool.defer_loading === true, place }];
  },
};
