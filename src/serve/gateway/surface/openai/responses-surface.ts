import {
  eventText,
  type SurfaceRefusal,
  type RefusalKind,
  type ReplyEnd,
  type ReplyFacts,
  type ReplyHead,
  type AnswerPart,
  type ReplyWriter,
  type SpokenPart,
  type Surface,
} from "../surface.ts";
import { listOf, textOf, type Fields, jsonInParts, parsedJson } from "../../../../base/index.ts";
import { ID_LENGTH } from "../history-reader.ts";
import { readRequest } from "./read-request.ts";

/** OpenAI's Responses API, as clients speak it. */
export const responsesSurface: Surface = {
  read: readRequest,
  reply: writeResponse,
  writer: responseWriter,
  refusal: (refusal) => ({ status: KINDS[refusal.kind][0], body: { error: errorOf(refusal) } }),
  counted: (tokens) => ({ object: "response.input_tokens", input_tokens: tokens }),
  requestIdHeader: "x-request-id",
  ids: { reply: "resp_", call: "call_", program: "cprog_", state: "fpr_", text: "msg_", reasoning: "rs_" },
  item: itemOf,
  references: (body) =>
    listOf(body, "input").flatMap((item) => {
      const id = textOf(item, "type") === "item_reference" ? textOf(item, "id") : undefined;
      return id !== undefined && id.length <= ID_LENGTH ? [id] : [];
    }),
};

/** A response: the other end of `readResponse` in `../../../../models/openai/responses/reply.ts`. */
function writeResponse(parts: readonly AnswerPart[], end: ReplyEnd, facts: ReplyFacts): Fields {
  const output = [...parts.map(itemOf), ...(end.type === "refused" ? [refusalItem(end.reason, facts.id)] : [])];
  return { ...headOf(facts), ...endOf(end), output, usage: usageOf(facts) };
}

function refusalItem(refusal: string, response: string): Fields {
  const id = `msg_${response.replace(/^resp_/, "")}`;
  return { type: "message", id, role: "assistant", status: "completed", content: [{ type: "refusal", refusal }] };
}

/** What a response has from its beginning. */
function headOf({ id, model, at, echo }: ReplyHead): Fields {
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

function endOf(end: ReplyEnd): Fields {
  return end.type === "cut_off"
    ? { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    : { status: "completed", incomplete_details: null };
}

/** The item of a part: the other end of what the conversation in `../../../../models/openai/responses` reads of an item. */
function itemOf(part: AnswerPart): Fields {
  // Ids of items differ from those of calls, and are known by them.
  const { id } = part;
  const bare = id.replace(/^[a-z]+_/, "");
  switch (part.type) {
    case "reasoning":
      return {
        type: "reasoning",
        id,
        summary: part.text === "" ? [] : [{ type: "summary_text", text: part.text }],
        encrypted_content: id,
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
      const input = textInputOf(part);
      const written =
        input === undefined
          ? { type: "function_call", arguments: inputText, id: `fc_${bare}` }
          : { type: "custom_tool_call", input, id: `ctc_${bare}` };
      return { ...written, call_id: id, name, namespace, status: "completed", caller };
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

function usageOf({ usage, programs }: Pick<ReplyFacts, "usage" | "programs">): Fields {
  const { inputTokens, outputTokens, cachedInputTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
    programs,
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

function errorOf({ kind, message, place, code }: SurfaceRefusal) {
  const [, type, ofKind] = KINDS[kind];
  const own = kind === "not_found" && place === "model" ? "model_not_found" : ofKind;
  return { message, type, param: place ?? null, code: code ?? own };
}

/** The events of a response, which are numbered, and the items that they have told. */
function responseEvents() {
  const output: Fields[] = [];
  let number = 0;
  const numbered = (type: string, fields: Fields) => ({ type, sequence_number: number++, ...fields });
  const event = (type: string, fields: Fields) => eventText(type, numbered(type, fields));
  return {
    output,
    numbered,
    event,
    added: (item: Fields) => event("response.output_item.added", { output_index: output.length, item }),
    done: (item: Fields): string => {
      const text = event("response.output_item.done", { output_index: output.length, item });
      output.push(item);
      return text;
    },
    placeOf: ({ id, type }: SpokenPart) => ({
      item_id: id,
      output_index: output.length,
      [SPOKEN[type].index]: 0,
    }),
  };
}

/** Writes a response in events: the other end of `ResponsesStream` in `../../../../models/openai/responses/reply.ts`. */
function responseWriter(head: ReplyHead): ReplyWriter {
  const { output, numbered, event, added, done, placeOf } = responseEvents();
  return {
    begin() {
      const response = { ...headOf(head), status: "in_progress", output: [], usage: null };
      return event("response.created", { response }) + event("response.in_progress", { response });
    },
    open(part) {
      const empty = part.type === "text" ? { status: "in_progress", content: [] } : { summary: [] };
      const begun = added({ ...itemOf(part), ...empty });
      return begun + event(`${SPOKEN[part.type].added}.added`, { ...placeOf(part), part: spokenPart(part) });
    },
    delta(part, delta) {
      const { words, more } = SPOKEN[part.type];
      return event(`${words}.delta`, { ...placeOf(part), delta, ...more });
    },
    close(part) {
      const place = placeOf(part);
      const { added: of, words, more } = SPOKEN[part.type];
      return (
        event(`${words}.done`, { ...place, text: part.text, ...more }) +
        event(`${of}.done`, { ...place, part: spokenPart(part) }) +
        done(itemOf(part))
      );
    },
    whole(part) {
      const item = itemOf(part);
      if (part.type !== "call") return added(item) + done(item);
      const about = { item_id: item.id, output_index: output.length };
      const text = textOf(item, "input");
      const [name, events] = text === undefined ? FUNCTION_CALL : CUSTOM_CALL;
      const whole = text === undefined ? { name: part.tool, arguments: part.inputText } : { input: text };
      return (
        added({ ...item, [name]: "", status: "in_progress" }) +
        event(`${events}.delta`, { ...about, delta: text ?? part.inputText }) +
        event(`${events}.done`, { ...about, ...whole }) +
        done(item)
      );
    },
    *end(end, facts) {
      const refusal = end.type === "refused" ? refusalItem(end.reason, facts.id) : undefined;
      const refused = refusal ? added(refusal) + done(refusal) : "";
      const response = { ...headOf({ ...facts, at: head.at }), ...endOf(end), output, usage: usageOf(facts) };
      const type = end.type === "cut_off" ? "response.incomplete" : "response.completed";
      return refused + eventText(type, yield* jsonInParts(numbered(type, { response })));
    },
    // What came before was sent.
    fail: (refusal) => event("response.failed", { response: { ...headOf(head), ...failed(refusal) } }),
  };
}

function failed(refusal: SurfaceRefusal): Fields {
  const { code, message } = errorOf(refusal);
  const error = { code: refusal.kind === "rate_limited" ? "rate_limit_exceeded" : (code ?? "server_error"), message };
  return { status: "failed", error, output: [], usage: null };
}

const FUNCTION_CALL = ["arguments", "response.function_call_arguments"] as const;
const CUSTOM_CALL = ["input", "response.custom_tool_call_input"] as const;

/** The events of what is sent while it is written. */
const SPOKEN = {
  text: {
    added: "response.content_part",
    words: "response.output_text",
    index: "content_index",
    more: { logprobs: [] },
  },
  reasoning: {
    added: "response.reasoning_summary_part",
    words: "response.reasoning_summary_text",
    index: "summary_index",
    more: {},
  },
} as const;

function spokenPart({ type, text }: SpokenPart): Fields {
  return type === "text"
    ? { type: "output_text", text, annotations: [], logprobs: [] }
    : { type: "summary_text", text };
}
