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
import { listOf, textOf, type Fields, jsonInParts, type SlicedWork, parsedJson } from "../../../../base/index.ts";
import { ID_LENGTH } from "../history-reader.ts";
import { readRequest } from "./read-request.ts";

/** OpenAI's Responses API, as clients speak it. */
export const responsesSurface: Surface = {
  read: readRequest,
  reply: writeResponse,
  writer: (facts, partOf) => new ResponseWriter(facts, partOf),
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
function writeResponse(parts: readonly ReplyPart[], end: ReplyEnd, facts: ReplyFacts): Fields {
  const output = [...parts.map(itemOf), ...(end.type === "refused" ? [refusalItem(end.reason, facts.id)] : [])];
  return { ...headOf(facts), ...endOf(end), output, usage: usageOf(facts) };
}

function refusalItem(refusal: string, response: string): Fields {
  const id = `msg_${response.replace(/^resp_/, "")}`;
  return { type: "message", id, role: "assistant", status: "completed", content: [{ type: "refusal", refusal }] };
}

/** What a response has from its beginning. */
function headOf({ id, model, at, echo }: Pick<ReplyFacts, "id" | "model" | "at" | "echo">): Fields {
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

/** The item of a part: the other end of what `ResponsesConversation` reads of an item. */
function itemOf(part: ReplyPart): Fields {
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

function errorOf({ kind, message, place, code }: Refusal) {
  const [, type, ofKind] = KINDS[kind];
  const own = kind === "not_found" && place === "model" ? "model_not_found" : ofKind;
  return { message, type, param: place ?? null, code: code ?? own };
}

type Head = Pick<ReplyFacts, "id" | "model" | "at" | "echo">;

/** Writes a response in events: the other end of `ResponsesStream` in `../../../../models/openai/responses/reply.ts`. */
class ResponseWriter extends EventWriter {
  readonly #head: Head;
  readonly #output: Fields[] = [];
  #number = 0;

  constructor(head: Head, partOf: (key: string) => SpokenPart) {
    super(partOf);
    this.#head = head;
  }

  begin(): string {
    const response = { ...headOf(this.#head), status: "in_progress", output: [], usage: null };
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
  }

  *end(end: ReplyEnd, facts: ReplyFacts): SlicedWork<string> {
    const before = this.close();
    const refusal = end.type === "refused" ? refusalItem(end.reason, facts.id) : undefined;
    const refused = refusal ? this.#added(refusal) + this.#done(refusal) : "";
    const head = headOf({ ...facts, at: this.#head.at });
    const response = { ...head, ...endOf(end), output: this.#output, usage: usageOf(facts) };
    const type = end.type === "cut_off" ? "response.incomplete" : "response.completed";
    return before + refused + eventText(type, yield* jsonInParts(this.#numbered(type, { response })));
  }

  fail(refusal: Refusal): string {
    const { code, message } = errorOf(refusal);
    const error = { code: refusal.kind === "rate_limited" ? "rate_limit_exceeded" : (code ?? "server_error"), message };
    // What came before was sent.
    const response = { ...headOf(this.#head), status: "failed", error, output: [], usage: null };
    return this.#event("response.failed", { response });
  }

  protected beginSpoken(part: SpokenPart): string {
    const empty = part.type === "text" ? { status: "in_progress", content: [] } : { summary: [] };
    const added = this.#added({ ...itemOf(part), ...empty });
    return (
      added + this.#event(`${SPOKEN[part.type].added}.added`, { ...this.#place(part), part: spokenPart(part, "") })
    );
  }

  protected delta(part: SpokenPart, delta: string): string {
    const { words, more } = SPOKEN[part.type];
    return this.#event(`${words}.delta`, { ...this.#place(part), delta, ...more });
  }

  protected endSpoken(part: SpokenPart, text: string): string {
    const place = this.#place(part);
    const { added, words, more } = SPOKEN[part.type];
    return (
      this.#event(`${words}.done`, { ...place, text, ...more }) +
      this.#event(`${added}.done`, { ...place, part: spokenPart(part, text) }) +
      this.#done(itemOf({ ...part, text }))
    );
  }

  protected whole(part: WholePart): string {
    const item = itemOf(part);
    if (part.type !== "call") return this.#added(item) + this.#done(item);
    const about = { item_id: item.id, output_index: this.#output.length };
    const text = textOf(item, "input");
    const [name, events] = text === undefined ? FUNCTION_CALL : CUSTOM_CALL;
    const whole = text === undefined ? { name: part.tool, arguments: part.inputText } : { input: text };
    return (
      this.#added({ ...item, [name]: "", status: "in_progress" }) +
      this.#event(`${events}.delta`, { ...about, delta: text ?? part.inputText }) +
      this.#event(`${events}.done`, { ...about, ...whole }) +
      this.#done(item)
    );
  }

  #added(item: Fields): string {
    return this.#event("response.output_item.added", { output_index: this.#output.length, item });
  }

  #place({ id, type }: SpokenPart): Fields {
    return { item_id: id, output_index: this.#output.length, [SPOKEN[type].index]: 0 };
  }

  #done(item: Fields): string {
    const done = this.#event("response.output_item.done", { output_index: this.#output.length, item });
    this.#output.push(item);
    return done;
  }

  #event(type: string, fields: Fields): string {
    return eventText(type, this.#numbered(type, fields));
  }

  #numbered(type: string, fields: Fields): Fields {
    return { type, sequence_number: this.#number++, ...fields };
  }
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

function spokenPart({ type }: SpokenPart, text: string): Fields {
  return type === "text"
    ? { type: "output_text", text, annotations: [], logprobs: [] }
    : { type: "summary_text", text };
}
