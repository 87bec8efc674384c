import { isDeepStrictEqual } from "node:util";
import { anthropic } from "../../../src/index.ts";
import type { Asked, ServerEvent } from "../loopback.ts";
import {
  type Fields,
  inputSentBack,
  inputTextOf,
  pieces,
  type Wire,
  type WireState,
  type WireTurn,
  without,
} from "../wire.ts";

type Block = Record<string, unknown> & { readonly type: string };
interface Message {
  readonly role: string;
  readonly content: readonly Block[];
}

const USAGE = { input_tokens: 100, output_tokens: 20, cache_creation_input_tokens: 7, cache_read_input_tokens: 3 };
const FIELDS = new Set(
  "model max_tokens system messages tools container stream tool_choice thinking output_config temperature stop_sequences context_management".split(
    " ",
  ),
);
const CALLERS = new Set(["direct", "code_execution_20250825", "code_execution_20260120", "code_execution_20260521"]);

/** Anthropic's Messages API, as strict as the real one about what adapters get wrong. */
export const anthropicWire: Wire = {
  key: "sk-ant-loopback-key",
  model: (options) => anthropic({ model: "claude-test", ...options }),
  isStreamed: ({ body }) => body.stream === true,
  keyOf: ({ headers }) => (headers["x-api-key"] as string | undefined) ?? headers.authorization?.replace("Bearer ", ""),
  refuse: (asked, state) => faultOf(asked, state),
  json: messageOf,
  events: eventsOf,
  lastEvents: 2,
  error: (status, message) => ({ type: "error", error: { type: errorType(status), message }, request_id: "req_1" }),
  errorEvent: {
    event: "error",
    data: JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  },
};

function errorType(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 429) return "rate_limit_error";
  if (status === 529) return "overloaded_error";
  return status >= 500 ? "api_error" : "invalid_request_error";
}

// ---- replies ---------------------------------------------------------------------------------------------------

function messageOf(turn: WireTurn, number: number): Record<string, unknown> {
  const content = contentOf(turn, number);
  const calls = content.some(({ type }) => type === "tool_use");
  const stop =
    turn.end === "cut_off" ? "max_tokens" : turn.end === "refused" ? "refusal" : calls ? "tool_use" : "end_turn";
  const { content: _, ...raw } = turn.raw ?? {};
  return {
    id: `msg_${number}`,
    type: "message",
    role: "assistant",
    model: "claude-test",
    stop_reason: stop,
    stop_sequence: null,
    stop_details: null,
    diagnostics: null,
    container: null,
    usage: USAGE,
    content,
    ...raw,
  };
}

function contentOf({ text, reasoning, calls = [], raw }: WireTurn, number: number): Block[] {
  if (raw?.content) return raw.content as Block[];
  return [
    ...(reasoning === undefined ? [] : [{ type: "thinking", thinking: reasoning, signature: `sealed-${number}` }]),
    ...(text === undefined ? [] : [{ type: "text", text, citations: null }]),
    ...calls.map((call, index) => ({
      type: "tool_use",
      id: call.id ?? `toolu_${number}_${index}`,
      name: call.program === undefined ? (call.tool ?? "") : "run_program",
      input: parsed(call.program === undefined ? inputTextOf(call) : JSON.stringify({ code: call.program })),
      caller: { type: "direct" },
      // Only here, for the stream: what cannot be parsed cannot be in a message.
      ...(call.inputText === undefined ? {} : { inputText: call.inputText }),
    })),
  ];
}

/** An input is always an object, once it is in a message. */
function parsed(text: string): unknown {
  return JSON.parse(inputSentBack(text));
}

function eventsOf(turn: WireTurn, number: number): ServerEvent[] {
  const message = messageOf(turn, number);
  const { content, stop_reason, stop_details, container, ...start } = message;
  const events = [
    { type: "message_start", message: { ...start, content: [], stop_reason: null, container: null } },
    { type: "ping" },
    ...(content as Block[]).flatMap((block, index) => blockEvents(block, index)),
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null, stop_details, container },
      usage: { output_tokens: USAGE.output_tokens, iterations: (message.usage as typeof USAGE & Fields).iterations },
    },
    { type: "message_stop" },
  ];
  return events.map((event) => ({ event: event.type, data: JSON.stringify(event) }));
}

function blockEvents(block: Block, index: number): { type: string }[] {
  const delta = (change: object) => ({ type: "content_block_delta", index, delta: change });
  const around = (start: Block, deltas: { type: string }[]) => [
    { type: "content_block_start", index, content_block: start },
    ...deltas,
    { type: "content_block_stop", index },
  ];
  const { inputText, ...rest } = block;
  switch (block.type) {
    case "text":
      return around(
        { ...block, text: "" },
        pieces(String(block.text)).map((text) => delta({ type: "text_delta", text })),
      );
    case "thinking":
      return around({ ...block, thinking: "", signature: "" }, [
        ...pieces(String(block.thinking)).map((thinking) => delta({ type: "thinking_delta", thinking })),
        delta({ type: "signature_delta", signature: block.signature }),
      ]);
    case "compaction": {
      const { content, encrypted_content } = block;
      return around({ ...block, content: null, encrypted_content: null }, [
        delta({ type: "compaction_delta", content, encrypted_content }),
      ]);
    }
    case "tool_use":
    case "server_tool_use": {
      const text = typeof inputText === "string" ? inputText : JSON.stringify(block.input);
      const parts = text === "{}" ? [] : pieces(text);
      return around(
        { ...rest, type: block.type, input: {} },
        parts.map((partial_json) => delta({ type: "input_json_delta", partial_json })),
      );
    }
    default:
      return around(block, []);
  }
}

// ---- what is refused -------------------------------------------------------------------------------------------

function faultOf(
  { method, path, headers, body }: Asked,
  { asked, replies, redeclares }: WireState,
): string | undefined {
  if (method !== "POST" || path !== "/v1/messages") return `there is no ${method} ${path}`;
  if (headers["anthropic-version"] === undefined) return "anthropic-version: header is required";
  const extra = Object.keys(body).find((name) => !FIELDS.has(name));
  if (extra !== undefined) return `${extra}: Extra inputs are not permitted`;
  if (typeof body.model !== "string" || !Number.isSafeInteger(body.max_tokens))
    return "model, max_tokens: Field required";
  const messages = body.messages as readonly Message[];
  if (messages[0]?.role !== "user") return "messages: first message must use the user role";
  return (
    settingFault(body) ??
    cacheFault(body) ??
    compactionFault(body, headers["anthropic-beta"]) ??
    eagerFault(body) ??
    toolFault(body, redeclares ? [] : asked) ??
    blankFault(messages) ??
    historyFault(messages, replies) ??
    pairFault(messages) ??
    referenceFault(body.tools as readonly Block[] | undefined, messages) ??
    partFault(messages) ??
    pauseFault(body, messages, replies, asked.at(-1)?.body.tools)
  );
}

function settingFault(body: Record<string, unknown>): string | undefined {
  const { tool_choice, thinking, output_config, temperature, stop_sequences } = body as {
    readonly [name: string]: Record<string, unknown> | undefined;
  };
  const tools = (body.tools ?? []) as readonly Record<string, unknown>[];
  if (tool_choice) {
    const { type, name, disable_parallel_tool_use, ...rest } = tool_choice;
    if (tools.length === 0) return "tool_choice: may only be specified while providing tools";
    if (Object.keys(rest).length > 0 || !["auto", "any", "tool", "none"].includes(String(type)))
      return "tool_choice: Input tag does not match any of the expected tags";
    if (type === "none" && disable_parallel_tool_use !== undefined)
      return "tool_choice: Extra inputs are not permitted";
    const named = tools.find((tool) => tool.name === name);
    if ((type === "tool") !== (name !== undefined) || (type === "tool" && !named))
      return `tool_choice: Tool '${String(name)}' not found in provided tools`;
    if (named && !((named.allowed_callers ?? ["direct"]) as readonly unknown[]).includes("direct"))
      return "tool_choice: a programmatic call cannot be forced";
    if (thinking && (type === "any" || type === "tool"))
      return "Thinking may not be enabled when tool_choice forces tool use.";
    if (disable_parallel_tool_use === true && tools.some((tool) => tool.name === "code_execution"))
      return "disable_parallel_tool_use is not supported with programmatic tool calling";
  }
  if (thinking && !(thinking.type === "adaptive" && ["summarized", "omitted"].includes(String(thinking.display))))
    return "thinking: Input tag does not match";
  if (thinking && temperature !== undefined) return "temperature may only be set to 1 when thinking is enabled";
  if (temperature !== undefined && !(Number(temperature) >= 0 && Number(temperature) <= 1))
    return "temperature: range: 0..1";
  if (stop_sequences !== undefined && !Array.isArray(stop_sequences))
    return "stop_sequences: Input should be a valid array";
  const { effort, format, ...others } = (output_config ?? {}) as {
    readonly effort?: string;
    readonly format?: Record<string, unknown>;
  };
  if (Object.keys(others).length > 0) return "output_config: Extra inputs are not permitted";
  if (effort !== undefined && !["low", "medium", "high"].includes(effort)) return "output_config.effort: unknown";
  if (
    format &&
    (format.type !== "json_schema" || (format.schema as Record<string, unknown>).additionalProperties !== false)
  )
    return "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false";
  return undefined;
}

/** What of tools a turn is held to. How a reply is streamed may differ from one request to the next, and so may its field. */
function declared(tools: unknown): unknown {
  return (tools as readonly Block[]).map((tool) => ({ ...tool, eager_input_streaming: undefined }));
}

function toolFault({ tools = [] }: Record<string, unknown>, asked: readonly Asked[]): string | undefined {
  const [first] = asked;
  if (first && !isDeepStrictEqual(declared(tools), declared(first.body.tools ?? [])))
    return "tools: must be the same for the whole turn";
  const names = new Set<unknown>();
  for (const tool of tools as readonly Record<string, unknown>[]) {
    if (names.has(tool.name)) return "tools: Tool names must be unique.";
    names.add(tool.name);
    if (tool.type === "code_execution_20260120" || tool.type === "web_search_20250305") continue;
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(tool.name))) return "tools.0.custom.name: String should match pattern";
    const schema = tool.input_schema as Record<string, unknown>;
    if (schema?.type !== "object") return "tools.0.custom.input_schema.type: Field required";
    const callers = (tool.allowed_callers ?? ["direct"]) as readonly string[];
    if (!callers.every((caller) => CALLERS.has(caller))) return "tools.0.custom.allowed_callers: unknown caller";
    const fromCode = callers.some((caller) => caller !== "direct");
    if (tool.strict === true && schema.additionalProperties !== false)
      return "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false";
    if (fromCode && tool.strict === true) return "tools.0.custom.strict: not supported with programmatic tool calling";
    if (fromCode && JSON.stringify(schema).includes('"$ref":"#"'))
      return "tools.0.custom.input_schema: Circular $ref detected";
  }
  return undefined;
}

/** At most four marks of a known form, none on a tool that a search loads, on thinking, or inside of a result. */
function cacheFault({ system, tools = [], messages }: Record<string, unknown>): string | undefined {
  const blocks = (messages as readonly Message[]).flatMap(({ content }) => content);
  const marks: unknown[] = [];
  for (const block of [...(Array.isArray(system) ? system : []), ...(tools as Block[]), ...blocks] as Block[]) {
    if (block.cache_control === undefined) continue;
    marks.push(block.cache_control);
    if (block.defer_loading === true) return "tools.0.cache_control: cannot be set when defer_loading is true";
    if (block.type === "thinking" || block.type === "redacted_thinking" || block.text === "")
      return "cache_control cannot be set for empty text blocks and thinking blocks";
  }
  const all = JSON.stringify([system, tools, messages]).match(/"cache_control":/g) ?? [];
  if (all.length !== marks.length) return "cache_control: Extra inputs are not permitted";
  if (marks.length > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`;
  const isKnown = (mark: unknown) =>
    isDeepStrictEqual(mark, { type: "ephemeral" }) || isDeepStrictEqual(mark, { type: "ephemeral", ttl: "1h" });
  return marks.every(isKnown) ? undefined : "cache_control: Input tag does not match";
}

/** Compaction is in beta, also of a history that was shortened before. */
function compactionFault({ context_management, messages }: Record<string, unknown>, beta: unknown): string | undefined {
  const isCompacted = (messages as readonly Message[]).some(({ content }) =>
    content.some(({ type }) => type === "compaction"),
  );
  if ((context_management !== undefined || isCompacted) && beta !== "compact-2026-01-12")
    return "context_management: Extra inputs are not permitted";
  if (context_management === undefined) return undefined;
  const { edits, ...rest } = context_management as { readonly edits: readonly Record<string, unknown>[] };
  const [{ type, trigger, ...others } = {}] = edits;
  const { type: by, value } = (trigger ?? {}) as Record<string, unknown>;
  const isKnown = type === "compact_20260112" && by === "input_tokens" && Number.isSafeInteger(value);
  if (!isKnown || edits.length !== 1 || Object.keys({ ...rest, ...others }).length > 0)
    return "context_management.edits: Input tag does not match";
  return Number(value) < 50_000 ? "context_management.edits.0.trigger.value: must be at least 50000" : undefined;
}

/** Only streamed replies have inputs in pieces, and only of tools of the client. */
function eagerFault({ tools = [], stream }: Record<string, unknown>): string | undefined {
  const eager = (tools as readonly Block[]).filter((tool) => tool.eager_input_streaming !== undefined);
  if (eager.some((tool) => tool.type === "code_execution_20260120"))
    return "tools.0.eager_input_streaming: Extra inputs are not permitted";
  return eager.length > 0 && stream !== true ? "tools.0.eager_input_streaming: requires stream" : undefined;
}

/** What the model said must come back as it was. */
function historyFault(messages: readonly Message[], replies: readonly unknown[]): string | undefined {
  const sent = replies.map((reply) => (reply as Message).content.map((block) => without(block, "inputText") as Block));
  const echoed = messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
  // Text without words may stay away, because the provider itself does not take it.
  const wanted = sent
    .map((content) => content.filter((block) => !isBlank(block)))
    .filter((content) => content.length > 0);
  if (isDeepStrictEqual(JSON.parse(JSON.stringify(echoed)), JSON.parse(JSON.stringify(wanted)))) return undefined;
  const ids = wanted.flat().flatMap(({ type, id }) => (type === "tool_use" ? [id] : []));
  // A server that repeats an id has broken its own rules, and leaves it to the client to mend the history.
  return new Set(ids).size < ids.length ? undefined : "messages: content of the assistant was changed";
}

function isBlank({ type, text }: Block): boolean {
  return type === "text" && String(text).trim() === "";
}

/** A text of white space alone is taken nowhere, also not in a result. */
function blankFault(messages: readonly Message[]): string | undefined {
  const blocks = messages.flatMap(({ content }) => content);
  const inner = blocks.flatMap(({ content }) => (Array.isArray(content) ? (content as Block[]) : []));
  return [...blocks, ...inner].some(isBlank)
    ? "messages: text content blocks must contain non-whitespace text"
    : undefined;
}

/** What a result refers to must be a tool whose loading was deferred. */
function referenceFault(tools: readonly Block[] = [], messages: readonly Message[]): string | undefined {
  if (tools.length > 0 && tools.every((tool) => tool.defer_loading === true))
    return "At least one tool must have defer_loading=false.";
  const deferred = new Set(tools.flatMap((tool) => (tool.defer_loading === true ? [tool.name] : [])));
  const references = messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .flatMap((block) =>
      block.type === "tool_result" && Array.isArray(block.content) ? (block.content as Block[]) : [],
    )
    .filter(({ type }) => type === "tool_reference");
  const unknown = references.find(({ tool_name }) => !deferred.has(tool_name));
  return unknown && `Tool reference '${String(unknown.tool_name)}' not found in available tools`;
}

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Images and documents, in messages and in results. */
function partFault(messages: readonly Message[]): string | undefined {
  const blocks = messages.flatMap(({ role, content }) => (role === "user" ? content : []));
  const inner = blocks.flatMap(({ content }) => (Array.isArray(content) ? (content as Block[]) : []));
  for (const { type, source } of [...blocks, ...inner]) {
    if (type !== "image" && type !== "document") continue;
    const { type: kind, media_type: media, data, url } = source as Record<string, string | undefined>;
    const isUrl = kind === "url" && URL.canParse(url ?? "");
    const isImage = type === "image" && kind === "base64" && IMAGES.has(media ?? "");
    const isFile =
      type === "document" &&
      ((kind === "base64" && media === "application/pdf") || (kind === "text" && media === "text/plain"));
    if (!isUrl && !((isImage || isFile) && typeof data === "string")) return `${type}.source: Input tag does not match`;
  }
  return undefined;
}

function pairFault(messages: readonly Message[]): string | undefined {
  const ids = new Set<unknown>();
  for (const [index, { role, content }] of messages.entries()) {
    if (!Array.isArray(content) || content.length === 0) return `messages.${index}: content must be non-empty`;
    if (content.some(({ type, text }) => type === "text" && text === ""))
      return "messages: text content blocks must be non-empty";
    if (role !== "assistant") continue;
    const calls = content.flatMap(({ type, id }) => (type === "tool_use" ? [id] : []));
    for (const id of calls) {
      if (ids.has(id)) return "messages: `tool_use` ids must be unique";
      ids.add(id);
    }
    const next = messages[index + 1];
    if (calls.length === 0) continue;
    if (next?.role !== "user")
      return "messages: `tool_use` ids were found without `tool_result` blocks immediately after";
    const results = next.content.filter(({ type }) => type === "tool_result");
    if (!isDeepStrictEqual(next.content.slice(0, results.length), results))
      return "messages: `tool_result` blocks must come first";
    const answered = results.map(({ tool_use_id }) => tool_use_id);
    if (answered.length !== calls.length || !calls.every((id) => answered.includes(id)))
      return "messages: each `tool_use` must have a single `tool_result`";
  }
  const orphan = messages
    .flatMap(({ content }) => content)
    .find(({ type, tool_use_id }) => type === "tool_result" && !ids.has(tool_use_id));
  return orphan ? "messages: unexpected `tool_use_id` found in `tool_result` blocks" : undefined;
}

/** A program that waits takes its results, in its container, and nothing else. */
function pauseFault(
  body: Record<string, unknown>,
  messages: readonly Message[],
  replies: readonly unknown[],
  before: unknown,
): string | undefined {
  const blocks = messages.flatMap(({ content }) => content);
  const ended = new Set(
    blocks.flatMap(({ type, tool_use_id }) =>
      type.endsWith("_tool_result") && type !== "tool_result" ? [tool_use_id] : [],
    ),
  );
  const open = blocks.some(
    ({ type, id, name }) => type === "server_tool_use" && name === "code_execution" && !ended.has(id),
  );
  const last = messages.at(-1);
  if (!open) return undefined;
  if (before !== undefined && !isDeepStrictEqual(body.tools, before))
    return "tools: changed while code execution is paused";
  const container = replies
    .map((reply) => (reply as { readonly container?: { readonly id: string } }).container?.id)
    .findLast((id) => id);
  if (container !== undefined && body.container !== container)
    return "container: required while code execution is paused";
  if (
    !(body.tools as readonly { readonly type?: string }[] | undefined)?.some(
      ({ type }) => type === "code_execution_20260120",
    )
  )
    return "tools: code_execution must be there";
  if (last?.role !== "user") return undefined;
  for (const { type, content } of last.content) {
    if (type !== "tool_result") return "messages: only `tool_result` blocks may answer programmatic tool calls";
    const plain =
      typeof content === "string" || (Array.isArray(content) && content.every((part: Block) => part.type === "text"));
    if (!plain) return "messages: only text may answer programmatic tool calls";
  }
  return undefined;
}

/** A turn in which a program of the provider waits for the result of a call. */
export function pausedTurn(name: string, input: unknown, code = "1"): WireTurn {
  const caller = { type: "code_execution_20260120", tool_id: "srvtoolu_1" };
  const content = [
    { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: { code } },
    { type: "tool_use", id: "toolu_1", name, input, caller },
  ];
  const container = { id: "c", expires_at: "2999-01-01T00:00:00Z" };
  return { raw: { content, stop_reason: "tool_use", container } };
}

/** A part of a request without the marks of what Anthropic is to keep. */
export function unmarked(part: unknown): unknown {
  return JSON.parse(JSON.stringify(part, (name, value: unknown) => (name === "cache_control" ? undefined : value)));
}
