import { countOf, fieldOf, type Fields, isFields, listOf, textOf } from "../../base/index.ts";
import { highestUsage, type ModelUsage, type TurnEnd } from "../model.ts";
import type { ProviderReply } from "../provider/provider-conversation.ts";
import { ReplyStream } from "../provider/reply-stream.ts";
import { decisiveReason, endBy } from "../turn/stop-reason.ts";

/** A whole reply, its parts as they go back in the next request. */
export interface GeminiReply extends ProviderReply {
  readonly parts: readonly Fields[];
  readonly finishReason: string | undefined;
  readonly blockReason: string | undefined;
  /** What Gemini's own search asked for and found. */
  readonly grounding: unknown;
}

/** Collects the chunks of a streamed reply. No part is moved, merged or left out, because some are signed. */
export class GeminiStream extends ReplyStream<GeminiReply> {
  readonly #chunks: unknown[] = [];

  take(chunk: unknown): void {
    this.#chunks.push(chunk);
    const parts = partsOf(chunk);
    this.display.reasoning(textOfParts(parts, true));
    this.display.text(textOfParts(parts, false));
    for (const { functionCall } of parts) if (isFields(functionCall)) this.#showCall(functionCall);
  }

  /** Gemini sends each call whole. */
  #showCall(functionCall: Fields): void {
    const name = textOf(functionCall, "name") ?? "";
    const args = fieldOf(functionCall, "args") ?? {};
    const { program, own } = this.display.names;
    if (name === program) this.display.program(functionCall, textOf(args, "code") ?? "");
    else this.display.whole(functionCall, own(name), JSON.stringify(args));
  }

  get reply(): GeminiReply {
    return joinChunks(this.#chunks);
  }

  get usage(): ModelUsage {
    return this.reply.usage;
  }
}

export function readBody(body: unknown): GeminiReply | undefined {
  const isReply = Array.isArray(fieldOf(body, "candidates")) || isFields(fieldOf(body, "promptFeedback"));
  return isReply ? joinChunks([body]) : undefined;
}

/** Joins the chunks of one reply; a body that is not streamed is one chunk. */
function joinChunks(chunks: readonly unknown[]): GeminiReply {
  const last = <Value>(read: (chunk: unknown) => Value) => chunks.map(read).findLast((value) => value !== undefined);
  let finishReason: string | undefined;
  for (const chunk of chunks) finishReason = decisiveReason(finishReason, textOf(candidateOf(chunk), "finishReason"));
  const parts = chunks.flatMap(partsOf);
  return {
    parts,
    text: textOfParts(parts, false),
    reasoning: textOfParts(parts, true),
    finishReason,
    grounding: last((chunk) => fieldOf(candidateOf(chunk), "groundingMetadata")),
    blockReason: last((chunk) => textOf(fieldOf(chunk, "promptFeedback"), "blockReason")),
    messageId: last((chunk) => textOf(chunk, "responseId")),
    usage: highestUsage(chunks.map((chunk) => usageOf(fieldOf(chunk, "usageMetadata")))),
  };
}

/** Why the calls of a reply cannot be made, by the finish reason that says so. */
const INVALID: ReadonlyMap<string, string> = new Map([
  ["MALFORMED_FUNCTION_CALL", "a call of it is malformed"],
  ["UNEXPECTED_TOOL_CALL", "it calls a tool that is not declared"],
  ["TOO_MANY_TOOL_CALLS", "it makes too many calls one after the other"],
]);

/** How the turn ends; undefined if the reply broke off. */
export function endOf(finishReason: string | undefined): TurnEnd | undefined {
  if (finishReason === undefined) return undefined;
  const why = INVALID.get(finishReason);
  if (why !== undefined) return { type: "invalid", reason: `${why} (${finishReason})` };
  return endBy(finishReason, `Gemini stopped the reply: ${finishReason}.`);
}

/** Whether the call of a part, if it has one, can be read. */
export function isReadablePart(part: Fields): boolean {
  return isFields(fieldOf(part, "functionCall") ?? {});
}

/** Whether a part holds a fragment of a call. Requests do not ask for fragments, and they are not joined here. */
export function isCallFragment({ functionCall }: Fields): boolean {
  if (!isFields(functionCall)) return false;
  return functionCall.willContinue === true || listOf(functionCall, "partialArgs").length > 0;
}

/** The model's words, or if `areThoughts` the summary of its reasoning. */
function textOfParts(parts: readonly Fields[], areThoughts: boolean): string {
  return parts.map((part) => ((part.thought === true) === areThoughts ? (textOf(part, "text") ?? "") : "")).join("");
}

function partsOf(chunk: unknown): readonly Fields[] {
  return listOf(fieldOf(candidateOf(chunk), "content"), "parts").filter(isFields);
}

/** The first candidate. Other candidates belong to other replies. */
function candidateOf(chunk: unknown): unknown {
  return listOf(chunk, "candidates").find((candidate) => (fieldOf(candidate, "index") ?? 0) === 0);
}

function usageOf(usage: unknown): ModelUsage {
  return {
    inputTokens: countOf(usage, "promptTokenCount") + countOf(usage, "toolUsePromptTokenCount"),
    outputTokens: countOf(usage, "candidatesTokenCount") + countOf(usage, "thoughtsTokenCount"),
    cachedInputTokens: countOf(usage, "cachedContentTokenCount"),
  };
}
