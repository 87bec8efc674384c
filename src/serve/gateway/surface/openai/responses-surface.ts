import type {
  Surface,
  Refusal,
  ReplyEnd,
  ReplyFacts,
  ReplyPart,
  ReplyWriter,
  SpokenPart,
  RefusalKind,
} from "../surface.ts";
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
  words: {
    stateMissing: "A program that waits needs its fingerprint.",
    stateGone: "The fingerprint of the program is not one of this key, or the program has expired.",
  },
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
class ResponseWriter implements ReplyWriter {
  readonly #head: Head;
  readonly #partOf: (key: string) => SpokenPart;
  readonly #output: Fields[] = [];
  #number = 0;
  /** The text or the summary that is being sent, with its words so far. */
  #open: { readonly part: SpokenPart; text: string } | undefined;

  /** `partOf` is the part of a key without its words. */
  constructor(head: Head, partOf: (key: string) => SpokenPart) {
    this.#head = head;
    this.#partOf = partOf;
  }

  begin(): string {
    const response = { ...headOf(this.#head), status: "in_progress", output: [], usage: null };
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
  }

  piece(text: string, key: string): string {
    if (text === "") return "";
    const before = this.#open?.part.key === key ? "" : this.#begin(this.#partOf(key));
    return before + this.#delta(text);
  }

  part(part: ReplyPart, rest?: string): string {
    if (part.type === "text" || part.type === "reasoning") {
      const piece = this.piece(rest ?? part.text, part.key);
      return piece + this.#endSpoken();
    }
    const before = this.#endSpoken();
    const item = itemOf(part);
    const about = { item_id: item.id, output_index: this.#output.length };
    if (part.type !== "call") return before + this.#added(item) + this.#done(item);
    const text = textOf(item, "input");
    const empty = text === undefined ? { arguments: "" } : { input: "" };
    const added = this.#added({ ...item, ...empty, status: "in_progress" });
    const events = text === undefined ? "response.function_call_arguments" : "response.custom_tool_call_input";
    const whole = text === undefined ? { name: part.tool, arguments: part.inputText } : { input: text };
    const written =
      this.#event(`${events}.delta`, { ...about, delta: text ?? part.inputText }) +
      this.#event(`${events}.done`, { ...about, ...whole });
    return before + added + written + this.#done(item);
  }

  *end(end: ReplyEnd, facts: ReplyFacts): SlicedWork<string> {
    const before = this.#endSpoken();
    const refusal = refusalItem(end.type === "refused" ? end.reason : "", facts.id);
    const refused = end.type === "refused" ? this.#added(refusal) + this.#done(refusal) : "";
    const response = {
      ...headOf({ ...facts, at: this.#head.at }),
      ...endOf(end),
      output: this.#output,
      usage: usageOf(facts),
    };
    const type = end.type === "cut_off" ? "response.incomplete" : "response.completed";
    return before + refused + framed(type, yield* jsonInParts(this.#numbered(type, { response })));
  }

  fail(refusal: Refusal): string {
    const { code, message } = errorOf(refusal);
    const error = { code: refusal.kind === "rate_limited" ? "rate_limit_exceeded" : (code ?? "server_error"), message };
    // What came before was sent.
    const response = { ...headOf(this.#head), status: "failed", error, output: [], usage: null };
    return this.#event("response.failed", { response });
  }

  #begin(part: SpokenPart): string {
    const before = this.#endSpoken();
    this.#open = { part, text: "" };
    const { added } = SPOKEN[part.type];
    const empty = part.type === "text" ? { status: "in_progress", content: [] } : { summary: [] };
    const item = { ...itemOf(part), ...empty };
    return before + this.#added(item) + this.#event(`${added}.added`, { ...this.#place(), part: spokenPart(part, "") });
  }

  #delta(delta: string): string {
    if (!this.#open) return "";
    this.#open.text += delta;
    const { words, more } = SPOKEN[this.#open.part.type];
    return this.#event(`${words}.delta`, { ...this.#place(), delta, ...more });
  }

  #endSpoken(): string {
    if (!this.#open) return "";
    const { part, text } = this.#open;
    const place = this.#place();
    this.#open = undefined;
    const { added, words, more } = SPOKEN[part.type];
    return (
      this.#event(`${words}.done`, { ...place, text, ...more }) +
      this.#event(`${added}.done`, { ...place, part: spokenPart(part, text) }) +
      this.#done(itemOf({ ...part, text }))
    );
  }

  #added(item: Fields): string {
    return this.#event("response.output_item.added", { output_index: this.#output.length, item });
  }

  #place(): Fields {
    const part = this.#open?.part;
    const within = part?.type === "reasoning" ? { summary_index: 0 } : { content_index: 0 };
    return { item_id: part?.id, output_index: this.#output.length, ...within };
  }

  #done(item: Fields): string {
    const done = this.#event("response.output_item.done", { output_index: this.#output.length, item });
    this.#output.push(item);
    return done;
  }

  #event(type: string, fields: Fields): string {
    return framed(type, JSON.stringify(this.#numbered(type, fields)));
  }

  #numbered(type: string, fields: Fields): Fields {
    return { type, sequence_number: this.#number++, ...fields };
  }
}

function framed(type: string, data: string): string {
  return `event: ${type}\ndata: ${data}\n\n`;
}

/** The events of what is sent while it is written. */
const SPOKEN = {
  text: { added: "response.content_part", words: "response.output_text", more: { logprobs: [] } },
  reasoning: { added: "response.reasoning_summary_part", words: "response.reasoning_summary_text", more: {} },
} as const;

function spokenPart({ type }: SpokenPart, text: string): Fields {
  return type === "text"
    ? { type: "output_text", text, annotations: [], logprobs: [] }
    : { type: "summary_text", text };
}
