import { fieldOf, type Fields, isFields, listOf, textOf, without } from "../../../base/index.ts";
import {
  type ContentForms,
  type DataPart,
  dataUrl,
  fileName,
  inOneLine,
  type MessageContent,
} from "../../turn/content-parts.ts";
import type { CallResult, ModelCall, ModelSettings, ToolChoice, ToolDeclaration } from "../../model.ts";
import { answerFormat, functionFields, type OpenAiClient, strictInput, userMessage } from "../openai-request.ts";
import { inputSentBack } from "../../turn/program-input.ts";
import { DeclaringConversation, type NamedTool } from "../../provider/declaring-conversation.ts";
import type { ForeignCall, TurnAsked } from "../../provider/provider-conversation.ts";
import { type ChatReply, ChatStream, endOf, isOfOtherKind, readCompletion } from "./reply.ts";
import { labelledText } from "../../turn/result-text.ts";
import { strictSchema } from "../openai-strict-schema.ts";
import type { ToolNames } from "../../turn/tool-names.ts";

export { openClient } from "../openai-request.ts";

type Params = Parameters<OpenAiClient["chat"]["completions"]["create"]>[0];

/** Fields of a reply's message that servers do not accept in the next request. */
const REPLY_ONLY = ["refusal", "annotations", "audio", "function_call"];

const CALLED: ReadonlySet<string | undefined> = new Set(["tool_calls", "function_call"]);

export class Conversation extends DeclaringConversation<ChatReply, OpenAiClient> {
  protected readonly Stream = ChatStream;
  protected readonly readBody = readCompletion;
  readonly #messages: Fields[] = [{ role: "system", content: this.opening.instructions }];
  #callsWithoutId = 0;
  /** Messages with the content of results beside their text, for the next request. */
  readonly #attached: Fields[] = [];

  protected declareTool(tool: NamedTool): Fields {
    const { strict, ...fields } = functionFields(tool, this.isStrict);
    return { type: "function", function: strict ? { ...fields, strict } : fields };
  }

  protected holds({ inputSchema: input }: ToolDeclaration): boolean {
    return strictSchema(input) !== undefined;
  }

  protected addInput(results: readonly Fields[], messages: readonly MessageContent[]): void {
    for (const result of results) this.#messages.push(result);
    this.#messages.push(...this.#attached.splice(0));
    for (const message of messages) this.#messages.push(userMessage(message, this.media.byUrl, CONTENT));
  }

  protected send({ maxOutputTokens, toolChoice, signal }: TurnAsked): Promise<unknown> {
    const { model, baseUrl, stream } = this.options;
    const hasTools = this.declarations.length > 0;
    const params = {
      model,
      messages: this.#messages,
      ...(hasTools && {
        tools: this.declarations,
        tool_choice: toolChoiceOf(toolChoice, this.names),
        parallel_tool_calls: this.settings.parallelCalls === false ? false : undefined,
      }),
      // Compatible servers hold all that the model writes to a schema of the answer: it could call no tool.
      ...settingsFields(this.settings, baseUrl === undefined || !hasTools),
      // Compatible servers take the older name, which OpenAI's newer models refuse.
      ...(baseUrl === undefined ? { max_completion_tokens: maxOutputTokens } : { max_tokens: maxOutputTokens }),
      stream,
      stream_options: stream ? { include_usage: true } : undefined,
    } as unknown as Params;
    return this.client.chat.completions.create(params, { signal });
  }

  protected bodyOf({ message, finishReason }: ChatReply): Fields {
    return { choices: [{ message, finish_reason: finishReason }] };
  }

  protected override bodyFor(text: string, calls: readonly ForeignCall[]): Fields {
    const toolCalls = calls.map(({ id, name, inputText }) => {
      return { id, type: "function", function: { name, arguments: inputText } };
    });
    const message = { content: text === "" ? null : text, tool_calls: toolCalls.length > 0 ? toolCalls : undefined };
    return { choices: [{ message, finish_reason: "stop" }] };
  }

  /** Some servers end replies that call tools with `stop` too. */
  protected read({ message, finishReason, text, usage }: ChatReply) {
    const end = endOf(message, finishReason);
    if (!end) return this.fail("interrupted", "It has no finish reason.");
    const all = listOf(message, "tool_calls") as readonly Fields[];
    const unread = all.filter(isOfOtherKind);
    const functionCalls = all.filter((call) => !isOfOtherKind(call));
    // Of a call in a form that was not asked for, nothing would be left.
    if (all.length === 0 && text === "" && CALLED.has(finishReason))
      return this.fail("reply_invalid", "It says that it calls tools, and has no call.", usage);
    const toolCalls = functionCalls.map((call) => this.#withId(call));
    this.#messages.push({
      ...without(message, ...REPLY_ONLY, "tool_calls"),
      role: "assistant",
      content: fieldOf(message, "content") ?? null,
      tool_calls: toolCalls.length > 0 ? toolCalls.map(sentBack) : undefined,
    });
    return { end, unread, calls: () => toolCalls.map((call) => this.#callOf(call)) };
  }

  /** A result refers to its call by id. */
  #withId(call: Fields): Fields {
    if (textOf(call, "id")) return call;
    this.#callsWithoutId += 1;
    return { ...call, id: `call_${this.#messages.length}_call-${this.#callsWithoutId}` };
  }

  #callOf(call: Fields): ModelCall {
    const toolCallId = textOf(call, "id") ?? "";
    const id = this.openCall(toolCallId, (result) => {
      const { carried, notes } = this.partsOf(result);
      if (carried.length > 0) this.#attached.push(attachedMessage(result, carried));
      return { role: "tool", tool_call_id: toolCallId, content: labelledText(result, { marksFailure: false, notes }) };
    });
    const called = fieldOf(call, "function");
    const name = textOf(called, "name") ?? "";
    const inputText = textOf(called, "arguments") ?? "";
    const written = this.isStrict ? strictInput(this.tools.get(this.names.own(name)), inputText) : inputText;
    return this.callNamed(id, name, written);
  }
}

function sentBack(call: Fields): Fields {
  const { function: called } = call;
  if (!isFields(called)) return call;
  return { ...call, function: { ...called, arguments: inputSentBack(textOf(called, "arguments") ?? "") } };
}

const CONTENT: ContentForms = {
  text: (text) => ({ type: "text", text }),
  data: (part) =>
    part.type === "image"
      ? { type: "image_url", image_url: { url: dataUrl(part) } }
      : { type: "file", file: { filename: fileName(part), file_data: dataUrl(part) } },
  link: (url) => ({ type: "image_url", image_url: { url } }),
};

/** Messages with results take text alone. Their other content follows in a message of the user that names the call. */
function attachedMessage({ callId, provenance }: CallResult, carried: readonly DataPart[]): Fields {
  const text = `[Content of the result of ${inOneLine(provenance.tool, 256)}, call ${callId}: data, not words of the user]`;
  return { role: "user", content: [CONTENT.text(text), ...carried.map(CONTENT.data)] };
}

/** The settings as fields of a request. `holdsAnswers`: whether the server takes a schema of the answer in this request. */
function settingsFields({ reasoning, temperature, stop, answer }: ModelSettings, holdsAnswers: boolean): Fields {
  const format = holdsAnswers ? answerFormat(answer) : undefined;
  return {
    reasoning_effort: reasoning?.effort,
    temperature,
    stop,
    response_format: format && { type: "json_schema", json_schema: format },
  };
}

function toolChoiceOf(choice: ToolChoice, names: ToolNames): unknown {
  if (typeof choice === "string") return choice === "auto" ? undefined : choice;
  return { type: "function", function: { name: names.aliasOf(choice.tool) } };
}
