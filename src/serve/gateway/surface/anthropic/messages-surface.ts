import type {
  Surface,
  Refusal,
  RefusalKind,
  ReplyEnd,
  ReplyFacts,
  ReplyPart,
  SpokenPart,
  WholePart,
} from "../surface.ts";
import { EventWriter, eventText } from "../event-writer.ts";
import { readRequest } from "./read-request.ts";
import { type Fields, JsonText } from "../../../../base/index.ts";
import { CODE_EXECUTION_NAME, CODE_EXECUTION_TYPE, STOP_REASONS } from "../../../../models/anthropic/reply.ts";

/** Anthropic's Messages API, as clients speak it. */
export const messagesSurface: Surface = {
  read: readRequest,
  reply: writeMessage,
  writer: (facts, partOf) => new MessageWriter(facts, partOf),
  refusal: (refusal, requestId) => ({ status: KINDS[refusal.kind][0], body: errorBody(refusal, requestId) }),
  counted: (tokens) => ({ input_tokens: tokens }),
  requestIdHeader: "request-id",
  ids: { reply: "msg_", call: "toolu_", program: "srvtoolu_", state: "container_", text: "text_", reasoning: "" },
};

/** A message of the model: the other end of `readMessage` in `../../../../models/anthropic/reply.ts`. */
function writeMessage(parts: readonly ReplyPart[], end: ReplyEnd, facts: ReplyFacts): Fields {
  return {
    ...headOf(facts),
    content: parts.map(blockOf),
    ...stopOf(end),
    container: containerOf(facts),
    usage: usageOf(facts),
  };
}

type Head = Pick<ReplyFacts, "id" | "model">;

function headOf({ id, model }: Head): Fields {
  return { id, type: "message", role: "assistant", model, diagnostics: null };
}

/** The block of a part: the other end of what `AnthropicConversation` reads of a block. */
function blockOf(part: ReplyPart): Fields {
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
function resultOf({ text, isError, isLate }: ReplyPart & { readonly type: "program_ended" }): Fields {
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

/** The other end of `usageOf` in `../../../../models/anthropic/reply.ts`. */
function usageOf({ usage, programs }: ReplyFacts): Fields {
  const { inputTokens, outputTokens, cachedInputTokens } = usage;
  return {
    ...NO_USAGE,
    input_tokens: Math.max(0, inputTokens - cachedInputTokens),
    output_tokens: outputTokens,
    cache_read_input_tokens: cachedInputTokens,
    programs: { calls: programs.calls, bytes_in: programs.bytesIn, bytes_out: programs.bytesOut },
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

function errorBody({ kind, message, code }: Refusal, requestId: string): Fields {
  const details = code === undefined ? {} : { details: { error_code: code, unsupported: [] } };
  return { type: "error", error: { type: KINDS[kind][1], message, ...details }, request_id: requestId };
}

/** Writes a message in events: the other end of `AnthropicStream` in `../../../../models/anthropic/reply.ts`. */
class MessageWriter extends EventWriter {
  readonly #head: Head;
  #index = 0;

  constructor(head: Head, partOf: (key: string) => SpokenPart) {
    super(partOf);
    this.#head = head;
  }

  begin(): string {
    const nothing = { content: [], stop_reason: null, stop_sequence: null, stop_details: null, container: null };
    const message = { ...headOf(this.#head), ...nothing, usage: { ...NO_USAGE, input_tokens: 0, output_tokens: 0 } };
    return typed({ type: "message_start", message });
  }

  end(end: ReplyEnd, facts: ReplyFacts): string {
    const delta = { ...stopOf(end), container: containerOf(facts) };
    return (
      this.close() + typed({ type: "message_delta", delta, usage: usageOf(facts) }) + typed({ type: "message_stop" })
    );
  }

  fail(refusal: Refusal, requestId: string): string {
    return typed({ ...errorBody(refusal, requestId), type: "error" });
  }

  protected beginSpoken(part: SpokenPart): string {
    const empty = part.type === "text" ? { text: "" } : { thinking: "", signature: "" };
    return this.#start({ ...blockOf(part), ...empty });
  }

  protected delta({ type }: SpokenPart, text: string): string {
    return this.#delta(type === "text" ? { type: "text_delta", text } : { type: "thinking_delta", thinking: text });
  }

  protected endSpoken(part: SpokenPart): string {
    const signature = part.type === "reasoning" && this.#delta({ type: "signature_delta", signature: part.id });
    return (signature || "") + this.#stop();
  }

  protected whole(part: WholePart): string {
    const block = blockOf(part);
    if (part.type === "program_ended") return this.#start(block) + this.#stop();
    const input = part.type === "call" ? written(part.inputText) : JSON.stringify(block.input);
    const delta = { type: "input_json_delta", partial_json: input };
    return this.#start({ ...block, input: {} }) + this.#delta(delta) + this.#stop();
  }

  #start(block: Fields): string {
    return typed({ type: "content_block_start", index: this.#index, content_block: block });
  }

  #delta(delta: Fields): string {
    return typed({ type: "content_block_delta", index: this.#index, delta });
  }

  #stop(): string {
    return typed({ type: "content_block_stop", index: this.#index++ });
  }
}

function typed(event: Fields & { readonly type: string }): string {
  return eventText(event.type, event);
}
