import { fieldOf, type Fields, isFields, textOf } from "../../../../base/index.ts";
import { RUN_PROGRAM } from "../../../../tools/tool-name.ts";
import type { ModelSettings, Reasoning, ToolChoice } from "../../../../models/model.ts";
import {
  type Asked,
  type FieldKinds,
  refused,
  RefusedAsk,
  refuseKinds,
  type StoredItems,
  type AskedTool,
  type AskedTools,
} from "../surface.ts";
import { readItems } from "./read-items.ts";
import type { TextFormat } from "../../../../tools/text-format.ts";
import type { Caller } from "../../../../tools/tool.ts";

/** Fields that change nothing here: what a provider keeps, charges or shows. */
const IGNORED =
  "metadata user safety_identifier prompt_cache_key prompt_cache_retention service_tier include stream_options top_logprobs truncation";
const READ =
  "model input instructions tools tool_choice parallel_tool_calls temperature max_output_tokens reasoning text store stream previous_response_id";
const KNOWN: ReadonlySet<string> = new Set(`${IGNORED} ${READ}`.split(" "));
/** Fields that the provider has, and this server does not offer. */
const NOT_OFFERED: ReadonlySet<string> = new Set(
  "background conversation prompt context_management max_tool_calls moderation".split(" "),
);

/** A field of another kind that was passed over would give an answer to another question. */
const KINDS: FieldKinds = {
  text: ["model", "instructions", "previous_response_id"],
  flag: ["stream", "store", "parallel_tool_calls"],
  object: ["reasoning", "text"],
  list: ["tools"],
};
const EFFORTS: ReadonlySet<unknown> = new Set(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);
const SUMMARIES: ReadonlySet<unknown> = new Set(["auto", "concise", "detailed"]);

/** Reads the body of `POST /v1/responses`. */
export function readRequest(body: unknown, _headers: Headers, _counts = false, stored: StoredItems = new Map()): Asked {
  if (!isFields(body)) throw refused("body", "expected an object");
  refuseFields(body);
  refuseKinds(body, KINDS);
  const model = textOf(body, "model");
  if (model === undefined || model === "")
    throw new RefusedAsk({
      kind: "invalid",
      place: "model",
      code: "missing_required_parameter",
      message: "Missing required parameter: 'model'.",
    });
  const tools = readTools(body);
  const previous = textOf(body, "previous_response_id");
  const { instructions, fingerprint, endsWithModel, ...items } = readItems(body, stored, previous !== undefined);
  if (endsWithModel && previous === undefined && fingerprint === undefined)
    throw refused("input", "the last item must be one of the user, or the output of a call");
  return {
    ...items,
    ...tools,
    model,
    isStreamed: body.stream === true,
    instructions: joined([textOf(body, "instructions") ?? "", ...instructions]),
    settings: readSettings(body, tools),
    state: items.openPrograms.length > 0 || endsWithModel ? fingerprint : undefined,
    previous,
    isStored: body.store !== false,
    echo: echoOf(body),
  };
}

function refuseFields(body: Fields): void {
  for (const [name, value] of Object.entries(body)) {
    if (KNOWN.has(name) || value === null || value === undefined) continue;
    const shown = name.slice(0, 100);
    if (name === "top_p" && value === 1) continue;
    if (name === "background" && value === false) continue;
    if (name === "top_p" || NOT_OFFERED.has(name))
      throw new RefusedAsk({
        kind: "invalid",
        place: shown,
        code: "unsupported_parameter",
        message: `Unsupported parameter: '${shown}' is not offered by this server.`,
      });
    throw new RefusedAsk({
      kind: "invalid",
      place: shown,
      code: "unknown_parameter",
      message: `Unknown parameter: '${shown}'.`,
    });
  }
}

function joined(texts: readonly string[]): string | undefined {
  const whole = texts.filter((text) => text.trim() !== "").join("\n\n");
  return whole === "" ? undefined : whole;
}

function readSettings(body: Fields, tools: ReturnType<typeof readTools>): ModelSettings {
  const { temperature, max_output_tokens: maxOutputTokens } = body;
  const toolChoice = readChoice(body, tools);
  if (isGiven(temperature) && !(typeof temperature === "number" && temperature >= 0 && temperature <= 2))
    throw refused("temperature", "expected a number from 0 to 2");
  if (isGiven(maxOutputTokens) && !(Number.isSafeInteger(maxOutputTokens) && Number(maxOutputTokens) > 0))
    throw refused("max_output_tokens", "expected a whole number above 0");
  const reasoning = readReasoning(body.reasoning);
  const answer = readFormat(body.text);
  return {
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(body.parallel_tool_calls === false ? { parallelCalls: false } : {}),
    ...(typeof temperature === "number" ? { temperature } : {}),
    ...(typeof maxOutputTokens === "number" ? { maxOutputTokens } : {}),
    ...(reasoning ? { reasoning } : {}),
    ...(answer ? { answer } : {}),
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function readReasoning(reasoning: unknown): Reasoning | undefined {
  const effort = fieldOf(reasoning, "effort") ?? undefined;
  if (effort === "none") return undefined;
  if (effort !== undefined && !EFFORTS.has(effort))
    throw refused("reasoning.effort", `expected one of ${[...EFFORTS].join(", ")}`);
  const summary = fieldOf(reasoning, "summary") ?? fieldOf(reasoning, "generate_summary") ?? undefined;
  if (summary !== undefined && !SUMMARIES.has(summary))
    throw refused("reasoning.summary", "expected 'auto', 'concise' or 'detailed'");
  const shown = summary === undefined ? {} : { summary: true };
  if (effort === undefined) return summary === undefined ? undefined : shown;
  if (effort === "minimal" || effort === "low") return { effort: "low", ...shown };
  return { effort: effort === "medium" ? "medium" : "high", ...shown };
}

function readFormat(text: unknown): ModelSettings["answer"] {
  const format = fieldOf(text, "format");
  if (format === undefined || format === null) return undefined;
  const type = textOf(format, "type");
  if (type === "text") return undefined;
  const schema = fieldOf(format, "schema");
  if (type !== "json_schema" || !isFields(schema))
    throw refused("text.format", "this server offers text, and json_schema with its schema");
  return schema;
}

/** What a response repeats of its request. */
function echoOf(body: Fields): Fields {
  return {
    instructions: body.instructions ?? null,
    tools: body.tools ?? [],
    tool_choice: body.tool_choice ?? "auto",
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    metadata: body.metadata ?? {},
    temperature: body.temperature ?? 1,
    max_output_tokens: body.max_output_tokens ?? null,
    previous_response_id: body.previous_response_id ?? null,
    store: body.store ?? true,
    text: body.text ?? { format: { type: "text" } },
    reasoning: body.reasoning ?? { effort: null, summary: null },
    truncation: body.truncation ?? "disabled",
    user: body.user ?? null,
  };
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const PROGRAMS = "programmatic_tool_calling";

/** The tools of a request: the other end of `declareTools` in `../../../../models/openai/responses/request.ts`. */
function readTools(body: unknown): AskedTools {
  const given = fieldOf(body, "tools") ?? [];
  if (!Array.isArray(given)) throw refused("tools", "expected an array");
  const tools: AskedTool[] = [];
  const has = { programs: false, search: false };
  for (const [index, tool] of (given as readonly unknown[]).entries()) {
    const place = `tools[${index}]`;
    if (!isFields(tool)) throw refused(place, "expected an object");
    switch (tool.type) {
      case "function":
      case "custom":
        tools.push(readOwn(tool, place));
        break;
      case "namespace":
        tools.push(...readNamespace(tool, place));
        break;
      case PROGRAMS:
        has.programs = tool.enabled !== false;
        break;
      case "tool_search":
        if ((tool.execution ?? "server") === "client")
          throw refused(`${place}.execution`, "this server does not offer searches that the client makes");
        has.search = true;
        break;
      default:
        throw refused(`${place}.type`, notOffered(tool.type));
    }
  }
  refuseTogether(tools, has);
  return { tools, programs: has.programs };
}

function notOffered(type: unknown): string {
  const name = typeof type === "string" ? `'${type.slice(0, 100)}'` : "this type";
  return `this server does not offer ${name}: it offers function, custom, namespace, tool_search and ${PROGRAMS}`;
}

function readNamespace(tool: Fields, place: string): readonly AskedTool[] {
  const { name, tools } = tool;
  if (typeof name !== "string" || !NAME.test(name)) throw refused(`${place}.name`, "expected a name like crm");
  if (!Array.isArray(tools)) throw refused(`${place}.tools`, "expected an array");
  return (tools as readonly unknown[]).map((one, index) => {
    const at = `${place}.tools[${index}]`;
    const type = fieldOf(one, "type");
    if (!isFields(one) || (type !== "function" && type !== "custom"))
      throw refused(`${at}.type`, "this server offers function and custom tools in a namespace");
    return { ...readOwn(one, at), namespace: name };
  });
}

/** A tool that the client has itself. */
function readOwn(tool: Fields, place: string): AskedTool {
  const { name, description } = tool;
  if (typeof name !== "string" || !NAME.test(name))
    throw refused(`${place}.name`, "expected a string that matches '^[a-zA-Z0-9_-]+$', of at most 64 characters");
  return {
    name,
    description: typeof description === "string" ? description : "",
    ...(tool.type === "custom"
      ? { inputSchema: {}, textFormat: readTextFormat(tool, place) }
      : readFunction(tool, place)),
    callers: readCallers(tool, place),
    isDeferred: tool.defer_loading === true,
    place,
  };
}

function readTextFormat({ format }: Fields, place: string): TextFormat {
  const type = textOf(format, "type");
  if (format === undefined || format === null || type === "text") return "text";
  const regex = textOf(format, "definition");
  if (type === "grammar" && textOf(format, "syntax") === "regex" && regex !== undefined) return { regex };
  throw refused(`${place}.format`, "this server offers text, and grammars of the syntax regex");
}

function readFunction(tool: Fields, place: string): Pick<AskedTool, "inputSchema" | "outputSchema"> {
  const { parameters, output_schema: output } = tool;
  if (tool.async === true) throw refused(`${place}.async`, "this server does not offer it");
  const input = parameters ?? { type: "object", properties: {} };
  if (!isFields(input) || input.type !== "object")
    throw refused(`${place}.parameters`, `schema must be a JSON Schema of 'type: "object"'`);
  if (output !== undefined && output !== null && !isFields(output))
    throw refused(`${place}.output_schema`, "expected an object");
  return { inputSchema: input, ...(isFields(output) ? { outputSchema: output } : {}) };
}

function readCallers(tool: Fields, place: string): readonly Caller[] {
  const given = tool.allowed_callers ?? ["direct"];
  const isList = Array.isArray(given) && given.length > 0;
  if (!isList || !given.every((caller) => caller === "direct" || caller === "programmatic"))
    throw refused(`${place}.allowed_callers`, "expected a list of 'direct' and 'programmatic'");
  return [...new Set(given as readonly Caller[])];
}

function refuseTogether(
  tools: readonly AskedTool[],
  has: { readonly programs: boolean; readonly search: boolean },
): void {
  const names = new Set<string>();
  for (const { name, namespace = "", callers, place, isDeferred } of tools) {
    if (names.has(`${namespace} ${name}`)) throw refused(`${place}.name`, `there are two tools ${name}`);
    names.add(`${namespace} ${name}`);
    if (!has.programs && callers.includes("programmatic"))
      throw refused(`${place}.allowed_callers`, `{ type: "${PROGRAMS}" } must be among the tools`);
    if (isDeferred && !has.search)
      throw refused(`${place}.defer_loading`, `{ type: "tool_search" } must be among the tools`);
  }
}

/** `run_program` stands for the programs of the provider. */
function readChoice(body: unknown, { tools, programs }: AskedTools): ToolChoice | undefined {
  const choice = fieldOf(body, "tool_choice");
  if (choice === undefined || choice === null || choice === "auto") return undefined;
  if (choice === "none") return "none";
  const hasTools = tools.length > 0 || programs;
  if (choice === "required" && hasTools) return "required";
  const type = textOf(choice, "type");
  const name = textOf(choice, "name");
  if (type === PROGRAMS && programs) return { tool: RUN_PROGRAM };
  if ((type === "function" || type === "custom") && tools.some((tool) => tool.name === name))
    return { tool: String(name) };
  throw refused("tool_choice", "this server offers none, auto, required, and a tool that is among the tools");
}
