import { isDeepStrictEqual } from "node:util";
import { openaiChat } from "../../../../src/index.ts";
import type { Asked, ServerEvent } from "../../loopback.ts";
import {
  type Fields,
  inputSentBack,
  inputTextOf,
  pieces,
  type Wire,
  type WireState,
  type WireTurn,
  without,
} from "../../wire.ts";

type Message = Record<string, unknown> & {
  readonly role?: string;
  readonly tool_calls?: readonly (Record<string, unknown> & { readonly id?: string })[];
};

const FIELDS = new Set(
  "model messages tools max_tokens stream stream_options tool_choice parallel_tool_calls reasoning_effort temperature stop response_format".split(
    " ",
  ),
);
const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 3 },
};

/** OpenAI's Chat Completions, as strict as the real one about what adapters get wrong. */
export const chatWire: Wire = {
  key: "sk-loopback-key-1234",
  model: (options) => openaiChat({ model: "gpt-test", ...options }),
  isStreamed: ({ body }) => body.stream === true,
  keyOf: ({ headers }) => headers.authorization?.replace("Bearer ", ""),
  refuse: (asked, state) => faultOf(asked, state),
  json: completionOf,
  events: eventsOf,
  lastEvents: 3,
  error: (status, message) => ({
    error: { message, type: status >= 500 ? "server_error" : "invalid_request_error", param: null, code: null },
  }),
  errorEvent: { data: JSON.stringify({ error: { message: "Broken", type: "server_error", code: null } }) },
};

// ---- replies ---------------------------------------------------------------------------------------------------

function completionOf(turn: WireTurn, number: number): Record<string, unknown> {
  const message = messageOf(turn, number);
  const finish =
    turn.end === "cut_off"
      ? "length"
      : turn.end === "refused"
        ? "content_filter"
        : message.tool_calls
          ? "tool_calls"
          : "stop";
  const { message: _, finish_reason = finish, ...raw } = turn.raw ?? {};
  return {
    id: `chatcmpl-${number}`,
    object: "chat.completion",
    created: 1,
    model: "gpt-test",
    choices: [{ index: 0, message, finish_reason, logprobs: null }],
    usage: USAGE,
    ...raw,
  };
}

function messageOf({ text, calls = [], raw }: WireTurn, number: number): Message {
  if (raw?.message) return raw.message as Message;
  const tool_calls = calls.map((call, index) => ({
    id: call.id ?? `call_${number}_${index}`,
    type: "function",
    function:
      call.program === undefined
        ? { name: call.tool, arguments: inputTextOf(call) }
        : { name: "run_program", arguments: JSON.stringify({ code: call.program }) },
  }));
  return { role: "assistant", content: text ?? null, refusal: null, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
}

/** Fragments of different calls come by turns, and each names its call by its place only. */
function eventsOf(turn: WireTurn, number: number): ServerEvent[] {
  const raw = turn.raw?.deltas as readonly object[] | undefined;
  const completion = completionOf(turn, number);
  const [{ message, finish_reason }] = completion.choices as [{ message: Message; finish_reason: string }];
  const deltas = raw ?? [{ role: "assistant", content: message.content === null ? null : "" }, ...deltasOf(message)];
  const about = { ...without(completion, "choices", "usage"), object: "chat.completion.chunk" };
  const chunks: object[] = [
    ...deltas.map((delta) => ({ ...about, choices: [{ index: 0, delta, finish_reason: null }] })),
    { ...about, choices: [{ index: 0, delta: {}, finish_reason }] },
    { ...about, choices: [], usage: USAGE },
  ];
  return [...chunks.map((chunk) => ({ data: JSON.stringify(chunk) })), { data: "[DONE]" }];
}

function deltasOf({ content, tool_calls = [], ...others }: Message): object[] {
  const texts = pieces(typeof content === "string" ? content : "");
  const parts = tool_calls.map((call, index): object[] => {
    const { name, arguments: text } = call.function as { readonly name: string; readonly arguments: string };
    const [first, ...rest] = pieces(text, 5000);
    return [
      { ...call, index, function: { name, arguments: first } },
      ...rest.map((piece) => ({ index, id: "", function: { arguments: piece } })),
    ];
  });
  const longest = Math.max(0, ...parts.map(({ length }) => length));
  const byTurns = Array.from({ length: longest }, (_, at) =>
    parts.flatMap((fragments) => fragments.slice(at, at + 1)),
  ).flat();
  const vendor = without(others, "role", "refusal");
  return [
    ...(Object.keys(vendor).length > 0 ? [vendor] : []),
    ...(typeof content === "string" ? texts.map((text) => ({ content: text })) : []),
    ...byTurns.map((fragment) => ({ tool_calls: [fragment] })),
  ];
}

// ---- what is refused -------------------------------------------------------------------------------------------

function faultOf({ method, path, body }: Asked, { replies }: WireState): string | undefined {
  if (method !== "POST" || path !== "/v1/chat/completions") return `there is no ${method} ${path}`;
  const extra = Object.keys(body).find((name) => !FIELDS.has(name));
  if (extra !== undefined) return `Unrecognized request argument supplied: ${extra}`;
  const setting = settingFault(body);
  if (setting !== undefined) return setting;
  for (const tool of (body.tools ?? []) as readonly Declared[])
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(tool.function.name))) return "Invalid 'tools[0].function.name'";
  return historyFault(body.messages as readonly Message[], replies);
}

interface Declared {
  readonly function: Record<string, unknown>;
}

function settingFault(body: Record<string, unknown>): string | undefined {
  const tools = (body.tools ?? []) as readonly Declared[];
  const { tool_choice: choice, stop = [], response_format: format } = body;
  if (tools.length === 0 && (choice !== undefined || body.parallel_tool_calls !== undefined))
    return "'tool_choice' is only allowed when 'tools' are specified.";
  if (typeof choice === "object" && choice !== null) {
    const { type, [type as "function"]: called } = choice as Declared & { readonly type: string };
    if (!tools.some((tool) => tool[type as "function"]?.name === called.name))
      return `Tool choice ${String(called.name)} not found in 'tools' parameter.`;
  } else if (![undefined, "none", "auto", "required"].includes(choice as string | undefined))
    return "Invalid value: 'tool_choice'";
  if (!Array.isArray(stop) || stop.length > 4) return "Invalid 'stop': array too long.";
  if (![undefined, "low", "medium", "high"].includes(body.reasoning_effort as undefined))
    return "Invalid value: 'reasoning_effort'";
  const { name, schema, strict } =
    ((format ?? {}) as { readonly json_schema?: Record<string, unknown> }).json_schema ?? {};
  if (format !== undefined && !(typeof name === "string" && (schema as Record<string, unknown>).type === "object"))
    return "Missing required parameter: 'response_format.json_schema'.";
  const strictSchemas = [
    ...(strict === true ? [schema] : []),
    ...tools.filter((tool) => tool.function?.strict === true).map((tool) => tool.function.parameters),
  ] as readonly Record<string, unknown>[];
  const loose = strictSchemas.some(
    ({ additionalProperties, required, properties = {} }) =>
      additionalProperties !== false || !isDeepStrictEqual(required, Object.keys(properties as object)),
  );
  return loose ? "Invalid schema: In strict mode, 'required' must include every key in properties." : undefined;
}

function callSentBack(call: Fields): Fields & { readonly id?: string } {
  const { function: called } = call as { readonly function?: { readonly arguments?: string } };
  return called ? { ...call, function: { ...called, arguments: inputSentBack(called.arguments ?? "") } } : call;
}

function historyFault(messages: readonly Message[], replies: readonly unknown[]): string | undefined {
  if (messages[0]?.role !== "system" || messages[1]?.role !== "user")
    return "messages: instructions and task are missing";
  const given = replies.map((reply) => {
    const [choice] = (reply as { readonly choices: [{ readonly message: Message }] }).choices;
    const { tool_calls: calls, ...message } = without(choice.message, "refusal") as Message;
    return calls ? { ...message, tool_calls: calls.map(callSentBack) } : message;
  });
  const echoed = messages.filter(({ role }) => role === "assistant");
  if (!isDeepStrictEqual(echoed, given)) return "messages: what the assistant said was changed";
  for (const [index, { tool_calls = [] }] of messages.entries()) {
    const wanted = tool_calls.map(({ id }) => id);
    const next = messages.slice(index + 1);
    const end = next.findIndex(({ role }) => role !== "tool");
    const results = tool_calls.length === 0 ? [] : next.slice(0, end < 0 ? next.length : end);
    if (
      !isDeepStrictEqual(
        results.map(({ tool_call_id }) => tool_call_id),
        wanted,
      )
    )
      return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'";
    if (results.some(({ content }) => typeof content !== "string")) return "messages: content must be a string";
  }
  if (messages.some(({ role, content }) => role === "user" && Array.isArray(content) && !content.every(isContent)))
    return "messages: content is malformed";
  const called = messages.flatMap(({ tool_calls = [] }) => tool_calls).length;
  return messages.filter(({ role }) => role === "tool").length === called
    ? undefined
    : "messages with role 'tool' must follow 'tool_calls'";
}

function isContent(part: Record<string, unknown>): boolean {
  const { type, text, image_url: image, file } = part as Record<string, Record<string, string> | undefined>;
  const kind: unknown = type;
  if (kind === "text") return typeof text === "string" && text !== "";
  if (kind === "image_url") return /^(https?:\/\/|data:image\/\w+;base64,)/.test(image?.url ?? "");
  return (
    kind === "file" && typeof file?.filename === "string" && (file.file_data ?? "").startsWith("data:application/pdf")
  );
}
