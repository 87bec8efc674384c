import { countOf, fieldOf, type Fields, isFields, listOf, textOf } from "../../base/index.ts";
import { highestUsage, type ModelUsage, NO_USAGE, sumOfUsage, type ToolCall, type TurnEnd } from "../model.ts";
import type { ProviderReply } from "../provider/provider-conversation.ts";
import { fieldsOfParts, placeIn, ReplyStream } from "../provider/reply-stream.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import { filesField } from "../turn/hosted-calls.ts";
import { objectSentBack } from "../turn/program-input.ts";
import { decisiveReason, endBy } from "../turn/stop-reason.ts";
import { pieceOf, textField } from "../turn/written-text.ts";

/** The type of the provider's own tool that runs programs, which is also what `allowed_callers` calls it. */
export const CODE_EXECUTION_TYPE = "code_execution_20260120";
/** Name of the provider's own tool that runs programs. */
export const CODE_EXECUTION_NAME = "code_execution";
/** Name of the provider's own search of the web. */
export const WEB_SEARCH_NAME = "web_search";

/** A whole message of the model, as it goes back in the next request. */
export interface AnthropicReply extends ProviderReply {
  readonly content: readonly Fields[];
  /** Input text of each streamed block, in the order of the blocks. The block itself has the parsed input. */
  readonly inputTexts: readonly (string | undefined)[];
  readonly stopReason: string | undefined;
  readonly stopDetails: unknown;
  readonly container: { readonly id: string; readonly expires_at: string | undefined } | undefined;
}

/** Reads a whole message; undefined if it is invalid. */
export function readMessage(
  message: unknown,
  inputTexts: AnthropicReply["inputTexts"] = [],
  usage: ModelUsage = sumOfUsage(usagesOf(fieldOf(message, "usage"))),
): AnthropicReply | undefined {
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
    usage,
  };
}

/** Puts a streamed message together from its blocks. Events of unknown kinds are passed over, as the protocol demands. */
export class AnthropicStream extends ReplyStream<AnthropicReply> {
  #usages: readonly ModelUsage[] = [];
  #stopReason: string | undefined;
  #stopDetails: unknown;
  #container: AnthropicReply["container"];
  #messageId: string | undefined;
  #isOver = false;

  take(event: unknown): void {
    const type = textOf(event, "type");
    const [message, delta] = [fieldOf(event, "message"), fieldOf(event, "delta")];
    if (type === "message_start") {
      this.#messageId = textOf(message, "id");
      this.#takeState(message, message);
    } else if (type === "content_block_start") this.#begin(placeIn(event, "index"), fieldOf(event, "content_block"));
    else if (type === "content_block_delta") this.#grow(placeIn(event, "index"), delta);
    else if (type === "content_block_stop") this.end(placeIn(event, "index"));
    else if (type === "message_delta") {
      this.#stopReason = decisiveReason(this.#stopReason, textOf(delta, "stop_reason"));
      this.#stopDetails = fieldOf(delta, "stop_details") ?? this.#stopDetails;
      this.#takeState(delta, event);
    } else if (type === "message_stop") this.#isOver = true;
  }

  get usage(): ModelUsage {
    return sumOfUsage(this.#usages);
  }

  get reply(): AnthropicReply | undefined {
    const { parts } = this;
    if (!this.#isOver || !parts.every(({ isOver }) => isOver)) return undefined;
    for (const { fields, input } of parts) if (input) fields.input = objectSentBack(input);
    const message = {
      content: fieldsOfParts(parts),
      stop_reason: this.#stopReason,
      stop_details: this.#stopDetails,
      container: this.#container,
      id: this.#messageId,
    };
    return readMessage(
      message,
      parts.map(({ input }) => input || undefined),
      this.usage,
    );
  }

  #begin(place: number, block: unknown): void {
    const { fields } = this.begin(place, block);
    const name = textOf(fields, "name") ?? "";
    if (fields.type === "tool_use") this.display.beginCall(place, name);
    else if (fields.type === "server_tool_use" && name === CODE_EXECUTION_NAME)
      this.display.begin(place, RUN_PROGRAM, "source");
  }

  #grow(place: number, delta: unknown): void {
    const part = this.underWay(place);
    const { fields } = part;
    const extend = (field: string) => {
      const piece = pieceOf(delta, field) ?? "";
      fields[field] = (textOf(fields, field) ?? "") + piece;
      return piece;
    };
    switch (textOf(delta, "type")) {
      case "text_delta":
        return this.display.text(extend("text"));
      case "thinking_delta":
        return this.display.reasoning(extend("thinking"));
      case "signature_delta":
        return void extend("signature");
      case "input_json_delta":
        return this.addInput(place, part, textField(delta, "partial_json"));
      case "citations_delta":
        if (!Array.isArray(fields.citations)) fields.citations = [];
        return void (fields.citations as unknown[]).push(fieldOf(delta, "citation"));
      case "compaction_delta":
        // The whole summary comes in one piece.
        for (const field of ["content", "encrypted_content"]) fields[field] = fieldOf(delta, field) ?? fields[field];
        return;
      default:
      // Deltas of a kind that is not known are passed over.
    }
  }

  /** The counters are cumulative. Some servers repeat them with 0, or say only later which of the input was cached. */
  #takeState(holder: unknown, counted: unknown): void {
    this.#container = containerOf(holder) ?? this.#container;
    const usages = usagesOf(fieldOf(counted, "usage"));
    this.#usages = usages.map((one, index) => highestUsage([one, this.#usages[index] ?? NO_USAGE]));
  }
}

function containerOf(message: unknown): AnthropicReply["container"] {
  const container = fieldOf(message, "container");
  const id = textOf(container, "id");
  return id === undefined ? undefined : { id, expires_at: textOf(container, "expires_at") };
}

/** The counters of a reply, which are without what making its history shorter took; and those of that. */
function usagesOf(usage: unknown): readonly ModelUsage[] {
  const compactions = listOf(usage, "iterations").filter((one) => textOf(one, "type") === "compaction");
  return [countsOf(usage), sumOfUsage(compactions.map(countsOf))];
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
    default:
      return endBy(stopReason);
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

/** What a hosted program printed, undefined if it is encrypted, and the files that it left. */
export function outputOf(content: unknown) {
  const isError = fieldOf(content, "return_code") !== 0;
  const files = filesField(listOf(content, "content"));
  switch (textOf(content, "type")) {
    case "code_execution_result": {
      const printed = [textOf(content, "stdout"), textOf(content, "stderr")].filter((part) => part);
      return { output: printed.join("\n"), isError, ...files };
    }
    case "encrypted_code_execution_result":
      return { output: undefined, isError, ...files };
    default:
      return { output: textOf(content, "error_code"), isError: true };
  }
}

/** The texts of the blocks of this type, which have it in a field of the same name. */
function joined(content: readonly Fields[], type: "text" | "thinking"): string {
  return content.map((block) => (block.type === type ? (textOf(block, type) ?? "") : "")).join("");
}
