import { isDeepStrictEqual } from "node:util";
import { gemini } from "../../../../src/index.ts";
import type { GeminiOptions } from "../../../../src/models/index.ts";
import type { Asked, ServerEvent } from "../../loopback.ts";
import { unknownWord } from "../wire.ts";
import {
  type Fields,
  inputSentBack,
  inputTextOf,
  pieces,
  type Wire,
  type WireCall,
  type WireState,
  type WireTurn,
} from "../../wire.ts";

type Step = Readonly<Record<string, unknown>>;

const FIELDS = new Set(
  "model input system_instruction tools generation_config response_format store previous_interaction_id stream".split(
    " ",
  ),
);
const USAGE = { total_input_tokens: 100, total_output_tokens: 15, total_thought_tokens: 5, total_cached_tokens: 3 };

/** Gemini's Interactions, as strict as the real one about what adapters get wrong. */
export function interactionsWireWith(options: Partial<GeminiOptions> = {}): Wire {
  return {
    key: "AIza-loopback-key-1234",
    model: (given) => gemini({ model: "gemini-test", api: "interactions", ...options, ...given }),
    isStreamed: ({ body }) => body.stream === true,
    keyOf: ({ headers }) => headers["x-goog-api-key"] as string | undefined,
    refuse: (asked, state) => faultOf(asked, state),
    json: interactionOf,
    events: eventsOf,
    lastEvents: 1,
    error: (status, message) => ({ error: { code: status, message, status: "FAULT" } }),
    errorEvent: {
      event: "error",
      data: JSON.stringify({ event_type: "error", error: { code: "unavailable", message: "Overloaded" } }),
    },
  };
}

export const interactionsWire = interactionsWireWith();

function interactionOf(turn: WireTurn, number: number): Record<string, unknown> {
  const steps = stepsOf(turn, number);
  const called = steps.some(({ type }) => type === "function_call") ? "requires_action" : "completed";
  const { steps: _, ...raw } = turn.raw ?? {};
  return {
    id: `interaction_${number}`,
    object: "interaction",
    model: "gemini-test",
    status: turn.end === "cut_off" ? "incomplete" : called,
    steps,
    usage: USAGE,
    created: "2026-01-01T00:00:00Z",
    updated: "2026-01-01T00:00:00Z",
    ...raw,
  };
}

function stepsOf({ text, reasoning, calls = [], end, raw }: WireTurn, number: number): Step[] {
  if (raw?.steps) return raw.steps as Step[];
  const summary = reasoning === undefined ? [] : [{ type: "text", text: reasoning }];
  return [
    ...(text === undefined && reasoning === undefined
      ? []
      : [{ type: "thought", signature: `sealed-${number}`, summary }]),
    ...(text === undefined ? [] : [{ type: "model_output", content: [{ type: "text", text }] }]),
    ...(end === "refused" ? [{ type: "model_output", error: { code: 3, message: "No." } }] : []),
    ...calls.map((call, index) => ({
      type: "function_call",
      id: call.id ?? `fc_${number}_${index}`,
      name: call.program === undefined ? (call.tool ?? "") : "run_program",
      // Of calls at once, the first is signed.
      ...(index === 0 ? { signature: `signed-${number}` } : {}),
      arguments: argsOf(inputOf(call)),
    })),
  ];
}

function inputOf(call: WireCall): string {
  return call.program === undefined ? inputTextOf(call) : JSON.stringify({ code: call.program });
}

/** Arguments are always an object here. */
function argsOf(text: string): object {
  return JSON.parse(inputSentBack(text)) as object;
}

function eventsOf(turn: WireTurn, number: number): ServerEvent[] {
  const interaction = interactionOf(turn, number);
  const { steps, ...about } = interaction;
  const inputs = turn.raw?.steps ? [] : (turn.calls ?? []).map(inputOf);
  const events: Step[] = [
    { event_type: "interaction.created", interaction: { ...about, status: "in_progress" } },
    ...(steps as Step[]).flatMap((step, index) => {
      const input = step.type === "function_call" ? (inputs.shift() ?? JSON.stringify(step.arguments)) : undefined;
      return stepEvents(step, index, input);
    }),
    { event_type: "interaction.completed", interaction: about },
  ];
  return events.map((event) => ({ event: String(event.event_type), data: JSON.stringify(event) }));
}

/** Words and inputs of calls come in pieces, and what Gemini ran itself in one. */
function stepEvents(step: Step, index: number, input: string | undefined): Step[] {
  const isOurs = ["function_call", "thought", "model_output"].includes(String(step.type));
  const { content = [], summary = [], signature, arguments: _, ...begun } = step;
  const { type, id, call_id: called, ...whole } = step;
  const deltas: Step[] = isOurs
    ? [
        ...(summary as readonly Fields[]).map((part) => ({ type: "thought_summary", content: part })),
        ...(signature === undefined ? [] : [{ type: "thought_signature", signature }]),
        ...(content as readonly Fields[]).flatMap(partDeltas),
        ...(input === undefined ? [] : pieces(input, 4000)).map((piece) => ({
          type: "arguments_delta",
          arguments: piece,
        })),
      ]
    : [{ type, ...whole }];
  const shown = isOurs ? { ...begun, ...(step.summary ? { summary: [] } : {}) } : { type, id, call_id: called };
  return [
    { event_type: "step.start", index, step: { ...shown, ...(input === undefined ? {} : { arguments: {} }) } },
    ...deltas.map((delta) => ({ event_type: "step.delta", index, delta })),
    { event_type: "step.stop", index },
  ];
}

function partDeltas(part: Fields): Step[] {
  if (part.type !== "text") return [part];
  const { annotations } = part;
  return [
    ...pieces(String(part.text)).map((text) => ({ type: "text", text })),
    ...(annotations === undefined ? [] : [{ type: "text_annotation_delta", annotations }]),
  ];
}

// ---- what is refused -------------------------------------------------------------------------------------------

function faultOf(asked: Asked, state: WireState): string | undefined {
  const { method, path, body } = asked;
  if (method !== "POST" || !/^\/v1beta\/interactions(\?alt=sse)?$/.test(path)) return `there is no ${method} ${path}`;
  const extra = Object.keys(body).find((name) => !FIELDS.has(name));
  if (extra !== undefined) return `Unknown name "${extra}"`;
  if (body.model !== "gemini-test") return `models/${String(body.model)} is not found`;
  if (typeof body.system_instruction !== "string") return "system_instruction is missing: it is not carried over";
  if (typeof body.store !== "boolean" || typeof body.stream !== "boolean") return "store and stream: must be booleans";
  return toolFault(body) ?? settingFault(body) ?? inputFault(body, state);
}

const THOUGHT = new Set(["minimal", "low", "medium", "high"]);
const GENERATION = new Set(
  "max_output_tokens temperature stop_sequences thinking_level thinking_summaries tool_choice".split(" "),
);
const MODES = new Set(["auto", "any", "none", "validated"]);

function toolFault({ tools }: Fields): string | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools) || tools.length === 0) return "tools: must not be empty";
  for (const tool of tools as readonly Fields[]) {
    if (tool.type === "google_search" && Object.keys(tool).length === 1) continue;
    const { type, name, description, parameters, ...others } = tool;
    if (type !== "function" || Object.keys(others).length > 0) return "tools: unknown type, or unknown fields";
    if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(String(name))) return "Invalid function name";
    if (typeof description !== "string") return "tools: a description is missing";
    const word = unknownWord(parameters) ?? emptyRequired(parameters);
    if (word !== undefined) return `Invalid "${word}" in schema`;
  }
  const names = (tools as readonly Fields[]).map(({ name, type }) => name ?? type);
  return new Set(names).size === names.length ? undefined : "Duplicate function declaration";
}

/** It refuses a list of required fields that has none. */
function emptyRequired(schema: unknown): string | undefined {
  return JSON.stringify(schema ?? null).includes('"required":[]') ? "required" : undefined;
}

function settingFault({ tools = [], generation_config: given, response_format: format }: Fields): string | undefined {
  const config = given as Fields;
  const declared = (tools as readonly Fields[]).filter(({ type }) => type === "function").map(({ name }) => name);
  const extra = Object.keys(config).find((name) => !GENERATION.has(name));
  if (extra !== undefined) return `Unknown name "${extra}" at 'generation_config'`;
  const { max_output_tokens: most, thinking_level: level = "low", thinking_summaries: summaries = "auto" } = config;
  if (!Number.isSafeInteger(most) || (most as number) < 1) return "max_output_tokens: must be positive";
  if (!THOUGHT.has(String(level)) || summaries !== "auto") return "Invalid value at 'generation_config'";
  if (format !== undefined) {
    const { type, mime_type: mime, schema } = format as Fields;
    if (type !== "text" || mime !== "application/json" || unknownWord(schema) !== undefined) return "response_format";
    if (declared.length > 0) return "Function calling with a response mime type is unsupported";
  }
  const { tool_choice: choice } = config;
  if (choice === undefined) return undefined;
  if (declared.length === 0) return "tool_choice needs functions";
  if (typeof choice === "string") return MODES.has(choice) ? undefined : "Invalid value at 'tool_choice'";
  const { allowed_tools: allowed, ...others } = choice as { readonly allowed_tools?: Fields };
  const { mode, tools: names } = allowed ?? {};
  if (Object.keys(others).length > 0 || mode !== "any" || !Array.isArray(names)) return "Invalid 'allowed_tools'";
  return names.every((name) => declared.includes(name)) ? undefined : "allowed_tools: a function is not declared";
}

/** The steps of the model come back as they were, and each call has its result, in order, before the next words. */
function inputFault(body: Fields, { replies }: WireState): string | undefined {
  const input = body.input as readonly Step[];
  if (!Array.isArray(input) || input.length === 0) return "input: must not be empty";
  const given = replies as readonly { readonly id: string; readonly steps: readonly Step[] }[];
  const last = given.at(-1);
  const chained = body.previous_interaction_id;
  if (chained !== undefined && (body.store !== true || chained !== last?.id))
    return `Invalid turn token: ${JSON.stringify(chained)}`;
  if (chained === undefined && input[0]?.type !== "user_input") return "input: must begin with the user";
  let rest = chained === undefined ? input : [...(last?.steps ?? []), ...input];
  for (const { steps } of chained === undefined ? given : given.slice(-1)) {
    const [own, others] = usersIn(rest);
    const fault = own.map(partsFault).find((found) => found !== undefined);
    if (fault !== undefined) return fault;
    if (!isDeepStrictEqual(others.slice(0, steps.length), steps))
      return "input: steps of the model were changed, or a signature is missing";
    const calls = steps.filter(({ type }) => type === "function_call");
    const results = others.slice(steps.length, steps.length + calls.length);
    const answered = results.map(({ type, call_id: id, name }) => [type, id, name]);
    if (
      !isDeepStrictEqual(
        answered,
        calls.map(({ id, name }) => ["function_result", id, name]),
      )
    )
      return "each function_call needs one function_result, in order, right after the calls";
    const bad = results.map(resultFault).find((found) => found !== undefined);
    if (bad !== undefined) return bad;
    rest = others.slice(steps.length + calls.length);
  }
  const [own, others] = usersIn(rest);
  return others.length > 0 ? "input: steps that the model has not made" : own.map(partsFault).find(Boolean);
}

/** The user's steps at the beginning, and the others. */
function usersIn(steps: readonly Step[]): readonly [own: readonly Step[], others: readonly Step[]] {
  const end = steps.findIndex(({ type }) => type !== "user_input");
  return end < 0 ? [steps, []] : [steps.slice(0, end), steps.slice(end)];
}

function partsFault({ type, content, ...others }: Step): string | undefined {
  const isBad =
    type !== "user_input" || Object.keys(others).length > 0 || !Array.isArray(content) || content.length === 0;
  return isBad ? "user_input: must have content" : contentFault(content as readonly Fields[]);
}

function contentFault(content: readonly Fields[]): string | undefined {
  const isGood = ({ type, text, data, mime_type: mime, ...others }: Fields): boolean => {
    if (Object.keys(others).length > 0) return false;
    if (type === "text") return typeof text === "string" && data === undefined && mime === undefined;
    return (
      ["image", "audio", "video", "document"].includes(String(type)) &&
      typeof data === "string" &&
      typeof mime === "string" &&
      text === undefined
    );
  };
  return content.every(isGood) ? undefined : "content: invalid part";
}

const RESULT_FIELDS = new Set(["type", "call_id", "name", "result", "is_error"]);

function resultFault(step: Step): string | undefined {
  const { result, is_error: failed = true } = step;
  if (Object.keys(step).some((name) => !RESULT_FIELDS.has(name)) || failed !== true)
    return "function_result: unknown fields";
  if (Array.isArray(result)) return contentFault(result as readonly Fields[]);
  return typeof result === "string" || (typeof result === "object" && result !== null)
    ? undefined
    : "function_result: must have a result";
}
