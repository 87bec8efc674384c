import { fieldOf, type Fields, isFields, listOf, now, quickKey, textOf } from "../../base/index.ts";
import { UniqueIds } from "../turn/call-ids.ts";
import { contentBlocks, type MessageContent } from "../turn/content-parts.ts";
import type { CallResult, HostedNews, ModelCall, Opening, ToolDeclaration } from "../model.ts";
import { type HostedCall, hostedEnd, hostedStart } from "../turn/hosted-calls.ts";
import { objectSentBack, textOfInput } from "../turn/program-input.ts";
import { type ForeignCall, ProviderConversation, type TurnAsked } from "../provider/provider-conversation.ts";
import { type ToolNames, toolNamesOf } from "../turn/tool-names.ts";
import { searchOf } from "../hosted-tools.ts";
import { type AnthropicMessage, cacheMark, markedMessages, markedSystem, markedTools } from "./cache.ts";
import {
  type AnthropicReply,
  AnthropicStream,
  callerOf,
  CODE_EXECUTION_NAME,
  endOf,
  outputOf,
  readMessage,
  STOP_REASONS,
  WEB_SEARCH_NAME,
} from "./reply.ts";
import {
  type AnthropicClient,
  COMPACTION_HEADERS,
  compactionOf,
  CONTENT,
  declareTools,
  programResultBlock,
  resultBlock,
  settingsFields,
  toolChoiceOf,
} from "./request.ts";

const ANSWER_MS = 240_000;
const MARGIN_MS = 5000;

export { openClient } from "./request.ts";

type Params = Parameters<AnthropicClient["messages"]["create"]>[0];

export class Conversation extends ProviderConversation<AnthropicReply, AnthropicClient> {
  protected readonly Stream = AnthropicStream;
  protected readonly readBody = readMessage;
  readonly #tools = declareTools(this.opening, this.names, this.options);
  readonly #strict = new Set<unknown>(this.#tools.filter(({ strict }) => strict === true).map(({ name }) => name));
  readonly #messages: AnthropicMessage[] = [];
  readonly #toolUseIds = new UniqueIds();
  #container: string | undefined;
  /** Tools of calls that Anthropic made itself, by the `quickKey` of the call's id: the result may come in a later turn. */
  readonly #hostedTools = new Map<unknown, string>();

  protected override namesFor(opening: Opening): ToolNames {
    const { hosted, settings = {} } = opening;
    return toolNamesOf(opening, [hosted ? CODE_EXECUTION_NAME : [], searchOf(settings) ? WEB_SEARCH_NAME : []].flat());
  }

  #refer({ found: names = [] }: CallResult): readonly string[] {
    const found = new Set<unknown>(names.map((name) => this.names.aliasOf(name)));
    // A conversation that is taken up with other tools may lack tools that were found.
    const tools = this.#tools.filter(({ name, defer_loading: isDeferred }) => found.has(name) && isDeferred === true);
    return tools.map(({ name }) => String(name));
  }

  protected holds({ name }: ToolDeclaration): boolean {
    return this.#strict.has(this.names.aliasOf(name));
  }

  protected addInput(results: readonly Fields[], messages: readonly MessageContent[]): void {
    const content = [...results, ...messages.flatMap((message) => contentBlocks(message, this.media.byUrl, CONTENT))];
    if (content.length > 0) this.#messages.push({ role: "user", content });
  }

  protected send({ maxOutputTokens, toolChoice, signal }: TurnAsked): Promise<unknown> {
    const { model, stream, own } = this.options;
    const mark = cacheMark(own.cache);
    const params = {
      model,
      max_tokens: maxOutputTokens,
      system: markedSystem(this.opening.instructions, mark),
      messages: markedMessages(this.#messages, mark),
      ...(this.#tools.length > 0 && {
        tools: markedTools(this.#tools, mark),
        tool_choice: toolChoiceOf(toolChoice, this.settings, this.names),
      }),
      ...settingsFields(this.settings, this.opening),
      container: this.#container,
      context_management: compactionOf(this.opening),
      stream,
    } as unknown as Params;
    // A history that was made shorter once is taken with the header alone.
    const blocks = this.#messages.flatMap(({ content }) => content);
    const isCompacted = this.opening.compactAt !== undefined || blocks.some(({ type }) => type === "compaction");
    return this.client.messages.create(params, { signal, ...(isCompacted && { headers: COMPACTION_HEADERS }) });
  }

  /** Without the streamed texts of inputs: the calls that were read from them are recorded instead. */
  protected bodyOf({ content, stopReason, stopDetails, container }: AnthropicReply): Fields {
    return { content, stop_reason: stopReason, stop_details: stopDetails, container };
  }

  protected override bodyFor(text: string, calls: readonly ForeignCall[]): Fields {
    const content = [
      { type: "text", text },
      ...calls.map(({ id, name, inputText }) => ({ type: "tool_use", id, name, input: objectSentBack(inputText) })),
    ];
    return { content, stop_reason: calls.length > 0 ? STOP_REASONS.called : STOP_REASONS.answered };
  }

  protected read(reply: AnthropicReply) {
    const { container, usage } = reply;
    const end = endOf(reply);
    if (!end) return this.fail("interrupted", "It has no stop reason.", usage);
    const unread = reply.content.filter((block) => !isRead(block));
    const lacksCall = end.type === "called" && !reply.content.some(({ type }) => type === "tool_use");
    if (lacksCall && unread.length === 0)
      return this.fail("reply_invalid", "It says that it calls tools, and has no call.", usage);
    if (!reply.content.every(isReadable))
      return this.fail("reply_invalid", "It made the history shorter, and does not say to what.", usage);
    this.#container = container?.id ?? this.#container;
    const content = reply.content.map((block) => this.#withUniqueId(block));
    // Anthropic takes no history with a text of white space alone, which models write before calls, and objects alone as inputs.
    const kept = content
      .filter(({ type, text }) => !(type === "text" && typeof text === "string" && text.trim() === ""))
      .map((block) => (block.type === "tool_use" ? { ...block, input: objectSentBack(block.input) } : block));
    if (kept.length > 0) this.#messages.push({ role: "assistant", content: kept });
    const answerBy = answerTime(container?.expires_at);
    return {
      end: lacksCall ? ({ type: "unfinished" } as const) : end,
      hosted: content.flatMap((block) => this.#newsOf(block)),
      cited: content.flatMap((block) => listOf(block, "citations")),
      unread,
      calls: () => content.flatMap((block, place) => this.#callsIn(block, reply.inputTexts[place], answerBy)),
    };
  }

  /** Anthropic refuses a history with two calls of the same id. If a server repeats an id, the later call gets another. */
  #withUniqueId(block: Fields): Fields {
    if (block.type !== "tool_use") return block;
    const id = this.#toolUseIds.take(textOf(block, "id") || "toolu");
    return id === block.id ? block : { ...block, id };
  }

  #callsIn(block: Fields, streamedInput: string | undefined, answerBy: number): ModelCall[] {
    if (block.type !== "tool_use") return [];
    const toolUseId = textOf(block, "id") ?? "";
    const caller = callerOf(fieldOf(block, "caller"));
    const id = this.openCall(toolUseId, (result) =>
      caller === "direct"
        ? resultBlock(toolUseId, result, this.partsOf(result), this.#refer(result))
        : programResultBlock(toolUseId, result),
    );
    const inputText = streamedInput ?? textOfInput(fieldOf(block, "input"));
    const program = textOf(fieldOf(block, "caller"), "tool_id");
    const fromProgram = caller === "direct" ? {} : { caller, answerBy, program };
    return [this.callNamed(id, textOf(block, "name") ?? "", inputText, fromProgram)];
  }

  #newsOf(block: Fields): HostedNews[] {
    if (block.type === "server_tool_use" && block.name === CODE_EXECUTION_NAME) {
      const source = textOf(block.input, "code") ?? "";
      return [{ type: "hosted_program_started", program: textOf(block, "id") ?? "", source }];
    }
    if (block.type === "code_execution_tool_result") {
      const program = textOf(block, "tool_use_id") ?? "";
      return [{ type: "hosted_program_ended", program, ...outputOf(block.content) }];
    }
    const started = hostedCallOf(block);
    if (started) {
      this.#hostedTools.set(quickKey(started.call), started.tool);
      return [hostedStart(started)];
    }
    const ended = hostedResultOf(block);
    if (!ended) return [];
    const tool = this.#hostedTools.get(quickKey(ended.call)) ?? ended.tool;
    return [hostedEnd({ call: ended.call, tool }, ended)];
  }
}

/** Whether Anthropic can take a block again. What a history was made shorter to is a text, `null` if that failed, or sealed. */
function isReadable({ type, content, encrypted_content: sealed }: Fields): boolean {
  const isText = (value: unknown) => value === null || typeof value === "string";
  return type !== "compaction" || ((isText(content) || typeof sealed === "string") && isText(sealed ?? null));
}

/** When an answer must be sent, in milliseconds since 1970. An expiry in the past means that clocks differ, and is not used. */
function answerTime(expiresAt: string | undefined): number {
  const latest = now() + ANSWER_MS;
  const expiry = Date.parse(expiresAt ?? "");
  const until = expiry > now() ? Math.min(expiry, latest) : latest;
  return until - MARGIN_MS;
}

const READ: ReadonlySet<unknown> = new Set(
  "text thinking redacted_thinking tool_use server_tool_use mcp_tool_use compaction container_upload".split(" "),
);

function isRead(block: Fields): boolean {
  const type = textOf(block, "type") ?? "";
  return READ.has(type) || type.endsWith("_tool_result");
}

/** A call of a tool that Anthropic runs itself, besides its programs; undefined for any other block. */
function hostedCallOf(block: Fields): HostedCall | undefined {
  const call = textOf(block, "id");
  if (!call || (block.type !== "server_tool_use" && block.type !== "mcp_tool_use")) return undefined;
  const server = block.type === "mcp_tool_use" ? `${textOf(block, "server_name") ?? "mcp"}.` : "";
  return { call, tool: server + (textOf(block, "name") ?? ""), input: fieldOf(block, "input") ?? {} };
}

function hostedResultOf(block: Fields) {
  const call = textOf(block, "tool_use_id");
  const type = textOf(block, "type") ?? "";
  if (!call || !type.endsWith("_tool_result")) return undefined;
  const content = fieldOf(block, "content");
  const parts = Array.isArray(content) ? content : [content];
  const fault = parts.map((part) => textOf(part, "error_code")).find((code) => code !== undefined);
  const words = parts.flatMap(
    (part) => textOf(part, "text") ?? [textOf(part, "stdout") || [], textOf(part, "stderr") || []].flat(),
  );
  const output = fault ?? (words.length === 0 ? undefined : words.join("\n"));
  return {
    call,
    tool: type.slice(0, -"_tool_result".length),
    isError: fault !== undefined || fieldOf(block, "is_error") === true,
    output,
    sources: parts.flatMap((part) => [part, ...listOf(part, "content")]).filter(isFields),
  };
}
