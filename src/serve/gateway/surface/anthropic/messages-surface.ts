import {
  eventText,
  type SurfaceRefusal,
  type RefusalKind,
  type ReplyEnd,
  type ReplyFacts,
  type ReplyHead,
  type AnswerPart,
  type ReplyWriter,
  type Surface,
} from "../surface.ts";
import { readRequest } from "./read-request.ts";
import { type Fields, JsonText } from "../../../../base/index.ts";
import { CODE_EXECUTION_NAME, CODE_EXECUTION_TYPE, STOP_REASONS } from "../../../../models/anthropic/reply.ts";

/** Anthropic's Messages API, as clients speak it. */
export const messagesSurface: Surface = {
  read: readRequest,
  reply: writeMessage,
  writer: messageWriter,
  refusal: (refusal, requestId) => ({ status: KINDS[refusal.kind][0], body: errorBody(refusal, requestId) }),
  counted: (tokens) => ({ input_tokens: tokens }),
  requestIdHeader: "request-id",
  ids: { reply: "msg_", call: "toolu_", program: "srvtoolu_", state: "container_", text: "text_", reasoning: "" },
};

/** A message of the model: the other end of `readMessage` in `../../../../models/anthropic/reply.ts`. */
function writeMessage(parts: readonly AnswerPart[], end: ReplyEnd, facts: ReplyFacts): Fields {
  return {
    ...headOf(facts),
    content: parts.map(blockOf),
    ...stopOf(end),
    container: containerOf(facts),
    usage: usageOf(facts),
  };
}

function headOf({ id, model }: ReplyHead): Fields {
  return { id, type: "message", role: "assistant", model, diagnostics: null };
}

/** The block of a part: the other end of what the conversation in `../../../../models/anthropic` reads of a block. */
function blockOf(part: AnswerPart): Fields {
  const { id } = part;
  switch (part.type) {
    case "reasoning":
      return { type: "thinking", thinking: part.text, signature: id };
    case "text":
      return { type: "text", text: part.text, citations: null };
    case "call": {
      const { tool: name, inputText, program } = part;
      const caller = program === undefined ? DIRECT : { type: CODE_EXECUTION_TYPE, tool_id: program };
      return { type: "tool_use", id, name, input: new JsonText(written(inputText), NOT_SEEN), caller };
    }
    case "program":
      return { type: "server_tool_use", id, name: CODE_EXECUTION_NAME, input: { code: part.source }, caller: DIRECT };
    case "program_ended":
      return { type: "code_execution_tool_result", tool_use_id: id, content: resultOf(part) };
  }
}

const DIRECT = { type: "direct" };

/** The gate has checked the inputs of calls that a client answers. Nobody asks here how they look. */
const NOT_SEEN = { values: 0, type: "object" };

/** Models also write an input without fields as nothing. */
function written(inputText: string): string {
  return ["", "null"].includes(inputText.trim()) ? "{}" : inputText;
}

/** The other end of `outputOf` in `../../../../models/anthropic/reply.ts`. */
function resultOf({ text, isError, isLate }: AnswerPart & { readonly type: "program_ended" }): Fields {
  if (isLate) return { type: "code_execution_tool_result_error", error_code: "execution_time_exceeded" };
  const printed = isError ? { stdout: "", stderr: text, return_code: 1 } : { stdout: text, stderr: "", return_code: 0 };
  return { type: "code_execution_result", ...printed, content: [] };
}

function stopOf(end: ReplyEnd): Fields {
  const plain = { stop_sequence: null, stop_details: null };
  if (end.type === "refused") {
    const details = { type: "refusal", category: null, explanation: end.reason };
    return { ...plain, stop_reason: "refusal", stop_details: details };
  }
  if (end.type === "cut_off")
    return { ...plain, stop_reason: /context/.test(end.reason) ? "model_context_window_exceeded" : "max_tokens" };
  return { ...plain, stop_reason: STOP_REASONS[end.type === "stopped" ? "unfinished" : end.type] };
}

function containerOf({ state }: Pick<ReplyFacts, "state">): Fields | null {
  return state ? { id: state.id, expires_at: new Date(state.expiresAt).toISOString(), skills: null } : null;
}

const NO_USAGE = {
  cache_creation: null,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  inference_geo: null,
  output_tokens_details: null,
  server_tool_use: null,
  service_tier: "standard",
  speed: null,
};

/** The other end of `usagesOf` in `../../../../models/anthropic/reply.ts`. */
function usageOf({ usage, programs }: ReplyFacts): Fields {
  const { inputTokens, outputTokens, cachedInputTokens } = usage;
  return {
    ...NO_USAGE,
    input_tokens: Math.max(0, inputTokens - cachedInputTokens),
    output_tokens: outputTokens,
    cache_read_input_tokens: cachedInputTokens,
    programs,
  };
}

/** The provider's status and word for each kind: the other end of `../../../../models/provider/provider-failure.ts`. */
const KINDS: Readonly<Record<RefusalKind, readonly [status: number, type: string]>> = {
  invalid: [400, "invalid_request_error"],
  unauthorized: [401, "authentication_error"],
  forbidden: [403, "permission_error"],
  not_found: [404, "not_found_error"],
  too_large: [413, "request_too_large"],
  rate_limited: [429, "rate_limit_error"],
  failed: [500, "api_error"],
  timed_out: [504, "timeout_error"],
  overloaded: [529, "overloaded_error"],
};

function errorBody({ kind, message, code }: SurfaceRefusal, requestId: string): Fields {
  const details = code === undefined ? {} : { details: { error_code: code, unsupported: [] } };
  return { type: "error", error: { type: KINDS[kind][1], message, ...details }, request_id: requestId };
}

/** Writes a message in events: the other end of `AnthropicStream` in `../../../../models/anthropic/reply.ts`. */
function messageWriter(head: ReplyHead): ReplyWriter {
  let index = 0;
  const start = (block: Fields) => typed({ type: "content_block_start", index, content_block: block });
  const deltaOf = (delta: Fields) => typed({ type: "content_block_delta", index, delta });
  const stop = () => typed({ type: "content_block_stop", index: index++ });
  return {
    begin() {
      const nothing = { content: [], stop_reason: null, stop_sequence: null, stop_details: null, container: null };
      const message = { ...headOf(head), ...nothing, usage: { ...NO_USAGE, input_tokens: 0, output_tokens: 0 } };
      return typed({ type: "message_start", message });
    },
    open(part) {
      const empty = part.type === "text" ? { text: "" } : { thinking: "", signature: "" };
      return start({ ...blockOf(part), ...empty });
    },
    delta: ({ type }, text) =>
      deltaOf(type === "text" ? { type: "text_delta", text } : { type: "thinking_delta", thinking: text }),
    close: ({ type, id }) => (type === "reasoning" ? deltaOf({ type: "signature_delta", signature: id }) : "") + stop(),
    whole(part) {
      const block = blockOf(part);
      if (part.type === "program_ended") return start(block) + stop();
      const input = part.type === "call" ? written(part.inputText) : JSON.stringify(block.input);
      const delta = { type: "input_json_delta", partial_json: input };
      return start({ ...block, input: {} }) + deltaOf(delta) + stop();
    },
    // oxlint-disable-next-line require-yield
    *end(end, facts) {
      const delta = { ...stopOf(end), container: containerOf(facts) };
      return typed({ type: "message_delta", delta, usage: usageOf(facts) }) + typed({ type: "message_stop" });
    },
    fail: (refusal, requestId) => typed({ ...errorBody(refusal, requestId), type: "error" }),
  };
}

function typed(event: Fields & { readonly type: string }): string {
  return eventText(event.type, event);
}
