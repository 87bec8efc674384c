import { fieldOf, type Fields, isFields, textOf } from "../../../../base/index.ts";
import { RUN_PROGRAM } from "../../../../tools/tool-name.ts";
import type { ModelSettings, Reasoning } from "../../../../models/model.ts";
import { type Asked, type FieldKinds, refused, RefusedAsk, refuseKinds, type StoredItems } from "../surface.ts";
import { readItems } from "./read-items.ts";
import { readChoice, readTools } from "./read-tools.ts";

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
  const toolChoice = readChoice(body, tools, RUN_PROGRAM);
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
