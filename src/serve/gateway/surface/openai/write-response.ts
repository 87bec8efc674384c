import { type Fields, parsedJson } from "../../../../base/index.ts";
import type { Refusal, RefusalKind, ReplyEnd, ReplyFacts, ReplyPart } from "../surface.ts";

/** A response: the other end of `readResponse` in `../../../../models/openai/responses/reply.ts`. */
export function writeResponse(parts: readonly ReplyPart[], end: ReplyEnd, facts: ReplyFacts): Fields {
  const output = [...parts.map(itemOf), ...(end.type === "refused" ? [refusalItem(end.reason, facts.id)] : [])];
  return { ...headOf(facts), ...endOf(end), output, usage: usageOf(facts) };
}

export function refusalItem(refusal: string, response: string): Fields {
  const id = `msg_${response.replace(/^resp_/, "")}`;
  return { type: "message", id, role: "assistant", status: "completed", content: [{ type: "refusal", refusal }] };
}

/** What a response has from its beginning. */
export function headOf({ id, model, at, echo }: Pick<ReplyFacts, "id" | "model" | "at" | "echo">): Fields {
  return {
    id,
    object: "response",
    created_at: Math.floor(at / 1000),
    model,
    background: false,
    top_p: 1,
    service_tier: "default",
    error: null,
    incomplete_details: null,
    ...echo,
  };
}

export function endOf(end: ReplyEnd): Fields {
  return end.type === "cut_off"
    ? { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    : { status: "completed", incomplete_details: null };
}

/** The item of a part: the other end of what `ResponsesConversation` reads of an item. */
export function itemOf(part: ReplyPart): Fields {
  // Ids of items differ from those of calls, and are known by them.
  const { id } = part;
  const bare = id.replace(/^[a-z]+_/, "");
  switch (part.type) {
    case "reasoning":
      return {
        type: "reasoning",
        id,
        summary: part.text === "" ? [] : [{ type: "summary_text", text: part.text }],
        encrypted_content: part.sealed,
      };
    case "text":
      return {
        type: "message",
        id,
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: part.text, annotations: [], logprobs: [] }],
      };
    case "call": {
      const { tool: name, namespace, inputText, program } = part;
      const caller = program === undefined ? null : { type: "program", caller_id: program };
      const named = namespace === undefined ? {} : { namespace };
      const input = textInputOf(part);
      const written =
        input === undefined
          ? { type: "function_call", arguments: inputText, id: `fc_${bare}` }
          : { type: "custom_tool_call", input, id: `ctc_${bare}` };
      return { ...written, call_id: id, name, ...named, status: "completed", caller };
    }
    case "program":
      return { type: "program", id: `prog_${bare}`, call_id: id, code: part.source, fingerprint: part.state };
    case "program_ended":
      return {
        type: "program_output",
        id: `po_${bare}`,
        call_id: id,
        result: part.text,
        status: part.isError ? "incomplete" : "completed",
      };
  }
}

/** The input of a call that takes one text; undefined for a function, whose input has fields. */
function textInputOf({ inputText }: { readonly inputText: string }): string | undefined {
  const input = inputText.startsWith('"') ? parsedJson(inputText) : undefined;
  return typeof input === "string" ? input : undefined;
}

export function usageOf({ usage, programs }: Pick<ReplyFacts, "usage" | "programs">): Fields {
  const { inputTokens, outputTokens, cachedInputTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
    programs: { calls: programs.calls, bytes_in: programs.bytesIn, bytes_out: programs.bytesOut },
  };
}

/** The provider's status, type and code for each kind: the other end of `../../../../models/provider/provider-failure.ts`. */
const KINDS: Readonly<Record<RefusalKind, readonly [status: number, type: string, code: string | null]>> = {
  invalid: [400, "invalid_request_error", null],
  unauthorized: [401, "invalid_request_error", "invalid_api_key"],
  forbidden: [403, "invalid_request_error", "insufficient_permissions"],
  not_found: [404, "invalid_request_error", null],
  too_large: [413, "invalid_request_error", null],
  rate_limited: [429, "rate_limit_error", "rate_limit_exceeded"],
  failed: [500, "server_error", "server_error"],
  timed_out: [504, "server_error", "server_error"],
  overloaded: [503, "server_error", "server_error"],
};

export function errorOf({ kind, message, place, code }: Refusal) {
  const [, type, ofKind] = KINDS[kind];
  const own = kind === "not_found" && place === "model" ? "model_not_found" : ofKind;
  return { message, type, param: place ?? null, code: code ?? own };
}

export function errorStatus({ kind }: Refusal): number {
  return KINDS[kind][0];
}
