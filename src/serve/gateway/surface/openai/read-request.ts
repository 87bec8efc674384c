import { type Fields, withoutUndefined, isFields, textOf } from "../../../../base/index.ts";
import type { ModelSettings, ToolChoice } from "../../../../models/model.ts";
import type { TextFormat } from "../../../../tools/text-format.ts";
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
import { type SurfaceRequest, type AskedTool, type AskedTools, invalidField, type StoredItems } from "../surface.ts";
import { readItems } from "./read-items.ts";

const FIELDS = {
  ...field.all(
    field.any,
    "metadata user safety_identifier prompt_cache_key prompt_cache_retention service_tier include",
  ),
  ...field.all(field.any, "stream_options top_logprobs truncation"),
  ...field.all(field.notOffered, "conversation prompt context_management max_tool_calls moderation"),
  top_p: field.only(1),
  background: field.only(false),
  model: field.name,
  input: field.any,
  instructions: field.text,
  previous_response_id: field.text,
  tools: field.list,
  tool_choice: field.any,
  parallel_tool_calls: field.flag,
  stream: field.flag,
  store: field.flag,
  temperature: field.upTo(2),
  max_output_tokens: field.count,
  reasoning: field.object,
  "reasoning.effort": field.effort,
  "reasoning.summary": field.oneOf("auto concise detailed"),
  "reasoning.generate_summary": field.oneOf("auto concise detailed"),
  text: field.object,
  "text.format": field.format,
};

/** Reads the body of `POST /v1/responses`. */
export function readRequest(
  body: unknown,
  _headers: Headers,
  _counts = false,
  stored: StoredItems = new Map(),
): SurfaceRequest {
  refuseUnknown(body, FIELDS);
  const read = readFields(body, FIELDS, "model");
  const { model = "", previous_response_id: previous } = read;
  const tools = readTools(read.tools ?? [], TOOLS);
  const { instructions, fingerprint, endsWithModel, ...items } = readItems(read.input, stored, previous !== undefined);
  if (endsWithModel && previous === undefined && fingerprint === undefined)
    throw invalidField("input", "the last item must be one of the user, or the output of a call");
  return {
    ...items,
    ...tools,
    model,
    isStreamed: read.stream === true,
    instructions: joinTexts([read.instructions ?? "", ...instructions]),
    settings: readSettings(read, tools),
    state: items.openPrograms.length > 0 || endsWithModel ? fingerprint : undefined,
    previous,
    isStored: read.store !== false,
    echo: echoOf(body as Fields),
  };
}

function readSettings(read: ReturnType<typeof readFields<typeof FIELDS>>, tools: AskedTools): ModelSettings {
  const summary = read["reasoning.summary"] ?? read["reasoning.generate_summary"];
  return withoutUndefined({
    toolChoice: readChoice(read.tool_choice, tools),
    parallelCalls: read.parallel_tool_calls === false ? false : undefined,
    temperature: read.temperature,
    maxOutputTokens: read.max_output_tokens,
    reasoning: reasoningOf(read["reasoning.effort"], summary !== undefined),
    answer: answerSchema(read["text.format"]),
  });
}

/** What a response repeats of its request, with what stands there by default. */
const ECHO = {
  instructions: null,
  tools: [],
  tool_choice: "auto",
  parallel_tool_calls: true,
  metadata: {},
  temperature: 1,
  max_output_tokens: null,
  previous_response_id: null,
  store: true,
  text: { format: { type: "text" } },
  reasoning: { effort: null, summary: null },
  truncation: "disabled",
  user: null,
};

function echoOf(body: Fields): Fields {
  return Object.fromEntries(Object.entries(ECHO).map(([name, missing]) => [name, body[name] ?? missing]));
}

const PROGRAMS = "programmatic_tool_calling";
const OWN = {
  name: field.named(64),
  parameters: field.schema,
  output_schema: field.object,
  async: field.only(false),
  allowed_callers: field.callers("programmatic", (caller) => caller === "programmatic"),
};
const GROUP = { name: field.named(64), tools: field.list };
const SEARCH = { execution: field.only("server") };

/** The tools of a request: the other end of `declareTools` in `../../../../models/openai/responses/request.ts`. */
const TOOLS: ToolForm = {
  placeOf: (index) => `tools[${index}]`,
  programs: PROGRAMS,
  searches: "tool_search",
  take: (tool, place) => {
    switch (tool.type) {
      case "function":
      case "custom":
        return [readOwn(tool, place)];
      case "namespace": {
        const { name: namespace, tools = [] } = readFields(tool, GROUP, "name tools", place);
        return tools.map((one, index) => ({ ...readOwn(one, `${place}.tools[${index}]`), namespace }));
      }
      case PROGRAMS:
        return tool.enabled === false ? [] : "programs";
      case "tool_search":
        readFields(tool, SEARCH, "", place);
        return "searches";
      default:
        return undefined;
    }
  },
};

/** A tool that the client has itself. */
function readOwn(tool: unknown, place: string): AskedTool {
  const { name = "", parameters = { type: "object", properties: {} }, ...read } = readFields(tool, OWN, "name", place);
  const isText = textOf(tool, "type") === "custom";
  if (!isFields(tool) || (!isText && tool.type !== "function"))
    throw invalidField(`${place}.type`, "this server offers function and custom tools in a namespace");
  return {
    name,
    description: textOf(tool, "description") ?? "",
    inputSchema: isText ? {} : parameters,
    textFormat: isText ? readTextFormat(tool, place) : undefined,
    outputSchema: isText ? undefined : read.output_schema,
    callers: callersOf(read.allowed_callers),
    isDeferred: tool.defer_loading === true,
    place,
  };
}

function readTextFormat({ format }: Fields, place: string): TextFormat {
  const type = textOf(format, "type");
  if (format === undefined || format === null || type === "text") return "text";
  const regex = textOf(format, "definition");
  if (type === "grammar" && textOf(format, "syntax") === "regex" && regex !== undefined) return { regex };
  throw invalidField(`${place}.format`, "this server offers text, and grammars of the syntax regex");
}

/** `run_program` stands for the programs of the provider. */
function readChoice(choice: unknown, { tools, programs }: AskedTools): ToolChoice | undefined {
  if (choice === undefined || choice === "auto") return undefined;
  if (choice === "none" || (choice === "required" && (tools.length > 0 || programs))) return choice;
  const [type, name] = [textOf(choice, "type"), textOf(choice, "name")];
  if (type === PROGRAMS && programs) return { tool: RUN_PROGRAM };
  const isOwn = (type === "function" || type === "custom") && tools.some((tool) => tool.name === name);
  if (isOwn && name !== undefined) return { tool: name };
  throw invalidField("tool_choice", "this server offers none, auto, required, and a tool that is among the tools");
}
