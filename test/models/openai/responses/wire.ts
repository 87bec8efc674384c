import { isDeepStrictEqual } from "node:util";
import { without } from "../../../../src/base/index.ts";
import { openai } from "../../../../src/index.ts";
import type { Asked, ServerEvent } from "../../loopback.ts";
import { inputSentBack, inputTextOf, pieces, type Wire, type WireState, type WireTurn } from "../../wire.ts";

type Item = Record<string, unknown> & { readonly type?: string };

const FIELDS = new Set(
  "model instructions input tools store context_management max_output_tokens include previous_response_id stream tool_choice parallel_tool_calls reasoning temperature text max_tool_calls".split(
    " ",
  ),
);
const USAGE = {
  input_tokens: 100,
  output_tokens: 20,
  total_tokens: 120,
  input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
};

/** OpenAI's Responses API, as strict as the real one about what adapters get wrong. */
export const responsesWire: Wire = {
  key: "sk-loopback-key-1234",
  model: (options) => openai({ model: "gpt-test", ...options }),
  isStreamed: ({ body }) => body.stream === true,
  keyOf: ({ headers }) => headers.authorization?.replace("Bearer ", ""),
  refuse: (asked, state) => faultOf(asked, state),
  json: responseOf,
  events: eventsOf,
  lastEvents: 1,
  error: (status, message) => ({ error: { message, type: errorType(status), param: null, code: null } }),
  errorEvent: {
    event: "error",
    data: JSON.stringify({ type: "error", code: "server_error", message: "Broken", param: null, sequence_number: 1 }),
  },
};

function errorType(status: number): string {
  if (status === 401) return "invalid_request_error";
  if (status === 429) return "rate_limit_exceeded";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

// ---- replies ---------------------------------------------------------------------------------------------------

function responseOf(turn: WireTurn, number: number): Record<string, unknown> {
  const { output: _, ...raw } = turn.raw ?? {};
  return {
    id: `resp_${number}`,
    object: "response",
    created_at: 1,
    model: "gpt-test",
    status: turn.end === "cut_off" ? "incomplete" : "completed",
    output: outputOf(turn, number),
    error: null,
    incomplete_details: turn.end === "cut_off" ? { reason: "max_output_tokens" } : null,
    usage: USAGE,
    ...raw,
  };
}

function outputOf({ text, reasoning, calls = [], end, raw }: WireTurn, number: number): Item[] {
  if (raw?.output) return raw.output as Item[];
  const said = end === "refused" ? [{ type: "refusal", refusal: "No." }] : [];
  const words = text === undefined ? said : [{ type: "output_text", text, annotations: [] }, ...said];
  const summary = reasoning?.split("\n\n").map((part) => ({ type: "summary_text", text: part }));
  return [
    ...(summary ? [{ type: "reasoning", id: `rs_${number}`, summary, encrypted_content: `sealed-${number}` }] : []),
    ...(words.length === 0
      ? []
      : [{ type: "message", id: `msg_${number}`, role: "assistant", status: "completed", content: words }]),
    ...calls.map((call, index) => {
      const ids = { call_id: call.id ?? `call_${number}_${index}`, id: `fc_${number}_${index}`, status: "completed" };
      if (call.text !== undefined)
        return { type: "custom_tool_call", ...ids, name: call.tool, input: call.text, caller: null };
      return call.program === undefined
        ? { type: "function_call", ...ids, name: call.tool, arguments: inputTextOf(call), caller: null }
        : { type: "custom_tool_call", ...ids, name: "run_program", input: call.program };
    }),
  ];
}

function eventsOf(turn: WireTurn, number: number): ServerEvent[] {
  const response = responseOf(turn, number);
  const begun = { ...response, output: [], status: "in_progress", usage: null };
  const events: Item[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    { type: "response.odd_event", odd: [1] },
    ...(response.output as Item[]).flatMap((item, output_index) => itemEvents(item, output_index)),
    { type: `response.${String(response.status)}`, response },
  ];
  return events.map((event, sequence_number) => ({
    event: event.type ?? "",
    data: JSON.stringify({ ...event, sequence_number }),
  }));
}

/** What is added is not what is done: it lacks the arguments, and what is sealed differs. */
function itemEvents(item: Item, output_index: number): Item[] {
  const about = { item_id: item.id, output_index };
  const added: Item = {
    ...item,
    ...("arguments" in item ? { arguments: "" } : {}),
    ...("encrypted_content" in item ? { encrypted_content: "unfinished" } : {}),
    ...("code" in item ? { code: "", fingerprint: "" } : {}),
  };
  const deltas =
    item.type === "function_call"
      ? pieces(String(item.arguments)).map((delta) => ({
          type: "response.function_call_arguments.delta",
          ...about,
          delta,
        }))
      : item.type === "custom_tool_call"
        ? pieces(String(item.input), 4000).map((delta) => ({
            type: "response.custom_tool_call_input.delta",
            ...about,
            delta,
          }))
        : item.type === "message"
          ? textEvents(item, about)
          : item.type === "reasoning"
            ? summaryEvents(item, about)
            : [];
  return [
    { type: "response.output_item.added", output_index, item: added },
    ...deltas,
    { type: "response.output_item.done", output_index, item },
  ];
}

function summaryEvents({ summary }: Item, about: object): Item[] {
  return (summary as Item[]).flatMap((part, summary_index) => [
    { type: "response.reasoning_summary_part.added", ...about, summary_index, part: { ...part, text: "" } },
    ...pieces(String(part.text)).map((delta) => ({
      type: "response.reasoning_summary_text.delta",
      ...about,
      summary_index,
      delta,
    })),
    { type: "response.reasoning_summary_part.done", ...about, summary_index, part },
  ]);
}

function textEvents({ content }: Item, about: object): Item[] {
  return (content as Item[]).flatMap((part, content_index) => [
    { type: "response.content_part.added", ...about, content_index, part: { ...part, text: "" } },
    ...(part.type === "output_text" ? pieces(String(part.text)) : []).map((delta) => ({
      type: "response.output_text.delta",
      ...about,
      content_index,
      delta,
      logprobs: [],
    })),
    { type: "response.content_part.done", ...about, content_index, part },
  ]);
}

// ---- what is refused -------------------------------------------------------------------------------------------

function faultOf({ method, path, body }: Asked, { asked, replies, redeclares }: WireState): string | undefined {
  if (method !== "POST" || path !== "/v1/responses") return `there is no ${method} ${path}`;
  const extra = Object.keys(body).find((name) => !FIELDS.has(name));
  if (extra !== undefined) return `Unknown parameter: '${extra}'.`;
  if (typeof body.instructions !== "string") return "instructions are missing: they are not carried over";
  return (
    settingFault(body) ??
    toolFault(body, redeclares ? [] : asked) ??
    inputFault(body, replies as readonly { readonly id: string; readonly output: Item[] }[])
  );
}

function settingFault(body: Record<string, unknown>): string | undefined {
  const tools = (body.tools ?? []) as readonly Item[];
  const { tool_choice: choice, reasoning = {}, text } = body as Record<string, Record<string, unknown> | undefined>;
  if (tools.length === 0 && (choice !== undefined || body.parallel_tool_calls !== undefined))
    return "Tool choice is only allowed when tools are specified.";
  if (typeof choice === "object") {
    const isSame = (tool: Item) => tool.type === choice.type && tool.name === choice.name;
    const isAllowed = choice.type === "allowed_tools" && ["auto", "required"].includes(String(choice.mode));
    if (!isAllowed && !tools.some(isSame))
      return `Tool choice '${String(choice.name)}' not found in 'tools' parameter.`;
  } else if (choice !== undefined && !["none", "auto", "required"].includes(String(choice)))
    return "Invalid value: 'tool_choice'";
  const { effort = "low", summary = "auto", ...rest } = reasoning;
  if (!["low", "medium", "high"].includes(String(effort)) || summary !== "auto" || Object.keys(rest).length > 0)
    return "Invalid value: 'reasoning'";
  const format = text?.format as Item | undefined;
  if (text && !(format?.type === "json_schema" && typeof format.name === "string")) return "Missing 'text.format.name'";
  const schema = (format?.schema ?? {}) as Record<string, unknown>;
  const isLoose =
    schema.additionalProperties !== false || !isDeepStrictEqual(schema.required, Object.keys(schema.properties ?? {}));
  return format?.strict === true && isLoose ? "Invalid schema for response_format 'answer'" : undefined;
}

function toolFault({ tools = [] }: Record<string, unknown>, asked: readonly Asked[]): string | undefined {
  const [first] = asked;
  if (first && !isDeepStrictEqual(tools, first.body.tools)) return "tools must be sent again";
  const names = new Set<unknown>();
  for (const tool of tools as readonly Item[]) {
    if (tool.type === "programmatic_tool_calling" || tool.type === "web_search") continue;
    if (names.has(tool.name)) return `Duplicate tool name ${String(tool.name)}`;
    names.add(tool.name);
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(tool.name))) return "Invalid 'tools[0].name'";
    if (tool.type === "custom" && isFormat(tool.format as Item)) continue;
    if (!("parameters" in tool) || typeof tool.strict !== "boolean")
      return "Missing required parameter: 'tools[0].strict'";
    const callers = (tool.allowed_callers ?? ["direct"]) as readonly string[];
    if (!callers.every((caller) => ["direct", "programmatic"].includes(caller)))
      return "Invalid 'tools[0].allowed_callers'";
    const schema = tool.parameters as Record<string, unknown>;
    if (
      tool.strict &&
      (schema.additionalProperties !== false ||
        !isDeepStrictEqual(schema.required, Object.keys(schema.properties ?? {})))
    )
      return `Invalid schema for function '${String(tool.name)}'`;
  }
  return undefined;
}

function isFormat({ type, ...format }: Item): boolean {
  if (type === "text") return Object.keys(format).length === 0;
  return (
    type === "grammar" && ["lark", "regex"].includes(String(format.syntax)) && typeof format.definition === "string"
  );
}

function sentBack(item: Item): Item {
  return item.type === "function_call" ? { ...item, arguments: inputSentBack((item.arguments ?? "") as string) } : item;
}

/** All that the model gave comes back in order and unchanged, or none of it where it is stored; each call has one output. */
function inputFault(
  body: Record<string, unknown>,
  replies: readonly { readonly id: string; readonly output: Item[] }[],
): string | undefined {
  const input = body.input as readonly Item[];
  const stored = body.store === true;
  if (stored && body.previous_response_id !== replies.at(-1)?.id)
    return "previous_response_id is not that of the last response";
  const searches = ((body.tools ?? []) as Item[]).some(({ type }) => type === "web_search");
  const include = [
    ...(stored ? [] : ["reasoning.encrypted_content"]),
    ...(searches ? ["web_search_call.action.sources"] : []),
  ];
  if (!isDeepStrictEqual(body.include ?? [], include)) return "include: reasoning would be lost";
  const outputs = input.filter(({ type }) => type?.endsWith("_call_output"));
  if (input.some(({ role, content }) => role === "user" && Array.isArray(content) && !content.every(isContent)))
    return "input: content is malformed";
  const added = input.filter(({ type }) => type === "additional_tools");
  if (added.some(({ role, tools }) => role !== "developer" || !Array.isArray(tools)))
    return "input: additional_tools is malformed";
  const echoed = input.filter((item) => item.role !== "user" && !outputs.includes(item) && !added.includes(item));
  const given = replies
    .flatMap(({ output }) => output)
    .map((item) => sentBack(named(without(item, "created_by") as Item)));
  if (!isDeepStrictEqual(echoed, stored ? [] : given)) return "input: items of the model were changed, or are missing";
  const calls = (stored ? (replies.at(-1)?.output ?? []) : given).filter(({ type }) =>
    /^(function|custom_tool)_call$/.test(type ?? ""),
  );
  const wanted = calls.map(({ type, call_id, caller }) =>
    JSON.stringify([`${type ?? ""}_output`, call_id, caller ?? null]),
  );
  const found = outputs.map(({ type, call_id, caller }) => JSON.stringify([type, call_id, caller ?? null]));
  if (!isDeepStrictEqual(wanted.toSorted(), found.toSorted()))
    return "No tool output found for function call, or one too many";
  const isGood = ({ output }: Item) =>
    typeof output === "string" || (Array.isArray(output) && (output as readonly Item[]).every(isContent));
  return outputs.every(isGood) ? undefined : "input: output must be a string or a list of content";
}

/** A call that lacks its call id, as compatible servers send it, is known by its own. */
function named(item: Item): Item {
  const isCalled = /^(?:(?:function|custom_tool)_call|program)$/.test(item.type ?? "");
  return isCalled && !item.call_id ? { ...item, call_id: item.id } : item;
}

function isContent({ type, text, image_url, detail, filename, file_data, file_url }: Item): boolean {
  const isData = (url: unknown) => typeof url === "string" && /^(https?:\/\/|data:[\w/.+-]+;base64,)/.test(url);
  if (type === "input_text") return typeof text === "string" && text !== "";
  if (type === "input_image") return isData(image_url) && detail === "auto";
  if (type !== "input_file") return false;
  return file_url === undefined ? typeof filename === "string" && isData(file_data) : isData(file_url);
}
