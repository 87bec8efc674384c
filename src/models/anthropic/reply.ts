import { countOf, fieldOf, type Fields, isFields, listOf, textOf } from "../../values/fields.ts";
import { type ModelUsage, sumOfUsage, type ToolCall, type TurnEnd } from "../model.ts";
import { type ProviderReply, ReplyStream } from "../provider/provider-conversation.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import { objectSentBack } from "../turn/program-input.ts";
import { decisiveReason, endSaidBy } from "../turn/stop-reason.ts";
import { writtenText } from "../turn/written-text.ts";

/** Name of the provider's own tool that runs programs. */
export const CODE_EXECUTION_NAME = "code_execution";
/** Name of the provider's own search of the web. */
export const WEB_SEARCH_NAME = "web_search";

type InputTexts = ReadonlyMap<number, string | undefined>;

/** A whole message of the model, as it goes back in the next request. */
export interface AnthropicReply extends ProviderReply {
  readonly content: readonly Fields[];
  /** Input text of each streamed block, by the index of the block. The block itself has the parsed input. */
  readonly inputTexts: InputTexts;
  readonly stopReason: string | undefined;
  readonly stopDetails: unknown;
  readonly container: { readonly id: string; readonly expires_at: string | undefined } | undefined;
}

/** Reads a whole message; undefined if it is invalid. */
export function readMessage(message: unknown, inputTexts: InputTexts = new Map()): AnthropicReply | undefined {
  const content = fieldOf(message, "content");
  if (!Array.isArray(content) || !content.every(isFields)) return undefined;
  return {
    content,
    inputTexts,
    text: joined(content, "text"),
    reasoning: joined(content, "thinking"),
    stopReason: textOf(message, "stop_reason"),
    stopDetails: fieldOf(message, "stop_details"),
    container: containerOf(message),
    messageId: textOf(message, "id"),
    usage: usageOf(fieldOf(message, "usage")),
  };
}

/**
 * Puts a streamed reply together. The SDK's helper would complete an input that broke off to a smaller value, which may
 * fit the schema of the tool.
 */
export class AnthropicStream extends ReplyStream<AnthropicReply> {
  readonly #blocks = new Map<number, Record<string, unknown>>();
  readonly #stopped = new Set<number>();
  readonly #citations = new Map<unknown, unknown[]>();
  readonly #inputTexts = new Map<number, string>();
  #usage: Record<string, unknown> = {};
  #stopReason: string | undefined;
  #stopDetails: unknown;
  #container: AnthropicReply["container"];
  #messageId: string | undefined;
  #isOver = false;

  take(event: unknown): void {
    switch (textOf(event, "type")) {
      case "message_start": {
        const message = fieldOf(event, "message");
        this.#messageId = textOf(message, "id");
        this.#container = containerOf(message) ?? this.#container;
        this.#count(fieldOf(message, "usage"));
        break;
      }
      case "content_block_start": {
        const block = fieldOf(event, "content_block");
        const place = indexOf(event);
        if (this.#blocks.has(place)) throw new SyntaxError(`Two blocks of the reply have the place ${place}.`);
        if (!isFields(block)) throw new SyntaxError("A block of the reply is no object.");
        this.#blocks.set(place, { ...block });
        this.#beginInput(place, block);
        break;
      }
      case "content_block_delta":
        this.#extend(indexOf(event), fieldOf(event, "delta"));
        break;
      case "content_block_stop":
        this.#stop(indexOf(event));
        break;
      case "message_delta": {
        const delta = fieldOf(event, "delta");
        this.#stopReason = decisiveReason(this.#stopReason, textOf(delta, "stop_reason"));
        this.#stopDetails = fieldOf(delta, "stop_details") ?? this.#stopDetails;
        this.#container = containerOf(delta) ?? this.#container;
        this.#count(fieldOf(event, "usage"));
        break;
      }
      case "message_stop":
        this.#isOver = true;
        break;
      default:
      // Unknown events are ignored, as the protocol demands.
    }
  }

  override get usage(): ModelUsage {
    return usageOf(this.#usage);
  }

  /** The reply; undefined if it broke off. */
  get reply(): AnthropicReply | undefined {
    const places = [...this.#blocks.keys()].toSorted((a, b) => a - b);
    if (!this.#isOver || !places.every((place) => this.#stopped.has(place))) return undefined;
    const message = {
      content: places.map((place) => this.#blocks.get(place)),
      stop_reason: this.#stopReason,
      stop_details: this.#stopDetails,
      container: this.#container,
      usage: this.#usage,
      id: this.#messageId,
    };
    return readMessage(message, new Map(places.map((place, index) => [index, this.#inputTexts.get(place)])));
  }

  #beginInput(place: number, block: Fields): void {
    const name = textOf(block, "name") ?? "";
    if (block.type === "tool_use") this.display.beginCall(place, name);
    else if (block.type === "server_tool_use" && name === CODE_EXECUTION_NAME)
      this.display.begin(place, RUN_PROGRAM, "source");
  }

  #extend(place: number, delta: unknown): void {
    const block = this.#blocks.get(place);
    if (!block || this.#stopped.has(place))
      throw new SyntaxError(`A part of the reply belongs to no block that is under way, at the place ${place}.`);
    const append = (field: string, text = "") => {
      block[field] = (textOf(block, field) ?? "") + text;
    };
    switch (textOf(delta, "type")) {
      case "text_delta":
        append("text", textOf(delta, "text"));
        this.display.text(textOf(delta, "text") ?? "");
        break;
      case "input_json_delta":
        this.#addInput(place, writtenText(delta, "partial_json"));
        break;
      case "thinking_delta":
        append("thinking", textOf(delta, "thinking"));
        this.display.reasoning(textOf(delta, "thinking") ?? "");
        break;
      case "signature_delta":
        append("signature", textOf(delta, "signature"));
        break;
      case "compaction_delta":
        // The whole summary comes in one piece.
        block.content = fieldOf(delta, "content");
        if (fieldOf(delta, "encrypted_content") !== undefined)
          block.encrypted_content = fieldOf(delta, "encrypted_content");
        break;
      case "citations_delta":
        this.#citationsOf(block).push(fieldOf(delta, "citation"));
        break;
      default:
    }
  }

  #addInput(place: number, piece: string): void {
    this.#inputTexts.set(place, (this.#inputTexts.get(place) ?? "") + piece);
    this.display.argument(place, piece);
  }

  /** The list is copied once: copying it for each citation would take quadratic time. */
  #citationsOf(block: Record<string, unknown>): unknown[] {
    const known = this.#citations.get(block);
    if (known) return known;
    const citations = [...listOf(block, "citations")];
    this.#citations.set(block, citations);
    block.citations = citations;
    return citations;
  }

  /** Parses the input of a complete block. */
  #stop(place: number): void {
    if (this.#stopped.has(place)) return;
    if (!this.#blocks.has(place)) throw new SyntaxError(`A block of the reply ends that never began, at ${place}.`);
    this.#stopped.add(place);
    const block = this.#blocks.get(place);
    const text = this.#inputTexts.get(place);
    if (!block || text === undefined) return;
    if (text === "") {
      this.#inputTexts.delete(place);
      return;
    }
    block.input = objectSentBack(text);
  }

  /** The counters are cumulative: later counts replace earlier counts. */
  #count(usage: unknown): void {
    if (!isFields(usage)) return;
    for (const [name, value] of Object.entries(usage)) if (value !== null) this.#usage[name] = value;
  }
}

/** The index of a block. Without it a part could be added to the input of another call. */
function indexOf(event: unknown): number {
  const index = fieldOf(event, "index");
  if (!Number.isSafeInteger(index) || (index as number) < 0)
    throw new SyntaxError("A part of the reply does not say which block it belongs to.");
  return index as number;
}

function containerOf(message: unknown): AnthropicReply["container"] {
  const container = fieldOf(message, "container");
  const id = textOf(container, "id");
  return id === undefined ? undefined : { id, expires_at: textOf(container, "expires_at") };
}

/** The counters of a reply are without what making its history shorter took, which is counted apart. */
function usageOf(usage: unknown): ModelUsage {
  const compactions = listOf(usage, "iterations").filter((one) => textOf(one, "type") === "compaction");
  return sumOfUsage([usage, ...compactions].map(countsOf));
}

function countsOf(usage: unknown): ModelUsage {
  const cachedInputTokens = countOf(usage, "cache_read_input_tokens");
  return {
    inputTokens: countOf(usage, "input_tokens") + countOf(usage, "cache_creation_input_tokens") + cachedInputTokens,
    outputTokens: countOf(usage, "output_tokens"),
    cachedInputTokens,
  };
}

/** The reasons for which whole turns stop. */
export const STOP_REASONS = { answered: "end_turn", called: "tool_use", unfinished: "pause_turn" } as const;

/** How the turn ends; undefined if the reply has no stop reason. */
export function endOf({ stopReason, stopDetails }: AnthropicReply): TurnEnd | undefined {
  switch (stopReason) {
    case undefined:
      return undefined;
    case STOP_REASONS.called:
      return { type: "called" };
    case STOP_REASONS.unfinished:
    case "compaction":
      return { type: "unfinished" };
    case "refusal":
      return { type: "refused", reason: textOf(stopDetails, "explanation") ?? "Anthropic's model gives no reason." };
    default: {
      const said = endSaidBy(stopReason);
      return said === "whole" ? { type: "answered" } : { type: said, reason: stopReason.slice(0, 100) };
    }
  }
}

export function callerOf(caller: unknown): ToolCall["caller"] {
  if (caller === undefined || caller === null) return "direct";
  const type = textOf(caller, "type");
  if (type === "direct") return "direct";
  return isCodeExecution(type) ? "programmatic" : "unknown";
}

/** Whether a caller's type is that of programs, in any version. */
export function isCodeExecution(type: string | undefined): boolean {
  return type?.startsWith("code_execution_") === true;
}

/** What a hosted program printed; undefined if it is encrypted. */
export function outputOf(content: unknown): { readonly output: string | undefined; readonly isError: boolean } {
  switch (textOf(content, "type")) {
    case "code_execution_result": {
      const printed = [textOf(content, "stdout"), textOf(content, "stderr")].filter((part) => part);
      return { output: printed.join("\n"), isError: fieldOf(content, "return_code") !== 0 };
    }
    case "encrypted_code_execution_result":
      return { output: undefined, isError: fieldOf(content, "return_code") !== 0 };
    default:
      return { output: textOf(content, "error_code"), isError: true };
  }
}

/** The texts of the blocks of this type, which have it in a field of the same name. */
function joined(content: readonly Fields[], type: "text" | "thinking"): string {
  return content.map((block) => (block.type === type ? (textOf(block, type) ?? "") : "")).join("");
}
