import { fieldOf, type Fields, isFields, listOf, textOf, without } from "../../../values/fields.ts";
import type { MessageContent } from "../../turn/content-parts.ts";
import type { CallResult, Conversation, ModelCall, ModelTurn, Opening } from "../../model.ts";
import { RUN_PROGRAM } from "../../../tools/tool-name.ts";
import { callFields, openOpenAiClient, type OpenAiClient, userMessage } from "../openai-request.ts";
import { strictSchema, withoutNulls } from "../openai-strict-schema.ts";
import { inputSentBack, sourceOf } from "../../turn/program-input.ts";
import { type ConversationParts, ProviderConversation, type TurnAsked } from "../../provider/provider-conversation.ts";
import { notStrictTools, type ToolNames } from "../../turn/tool-names.ts";
import type { TurnDisplay } from "../../turn/turn-display.ts";
import { type ChatReply, ChatStream, endOf, readCompletion } from "./reply.ts";
import {
  attachedMessage,
  CONTENT,
  type Declaring,
  declareTool,
  declareTools,
  settingsFields,
  toolChoiceOf,
  toolMessage,
} from "./request.ts";

type Params = Parameters<OpenAiClient["chat"]["completions"]["create"]>[0];

export async function converseByOpenAiChat(parts: ConversationParts): Promise<Conversation> {
  return new ChatConversation(parts, await openOpenAiClient(parts));
}

/** Fields of a reply's message that servers do not accept in the next request. */
const REPLY_ONLY = ["refusal", "annotations", "audio", "function_call"];

/** The reasons of replies that call tools. */
const CALLED: ReadonlySet<string | undefined> = new Set(["tool_calls", "function_call"]);

class ChatConversation extends ProviderConversation<ChatReply, OpenAiClient> {
  #declaring: Declaring = this.#declaringAnew();
  #tools = declareTools(this.opening, this.names, this.#declaring);
  readonly #messages: Fields[] = [{ role: "system", content: this.opening.instructions }];
  #callsWithoutId = 0;
  /** Messages with the content of results beside their text, for the next request. */
  readonly #attached: Fields[] = [];

  /** OpenAI has custom tools. Of a compatible server the developer says so. */
  #declaringAnew(): Declaring {
    const { strict, baseUrl, own } = this.options;
    const { customTools = baseUrl === undefined } = own;
    return { strict: strict ? new Map() : undefined, customTools: customTools === true };
  }

  protected prepareTools(opening: Opening, names: ToolNames): () => void {
    const declaring = this.#declaringAnew();
    const declared = declareTools(opening, names, declaring);
    return () => {
      this.#declaring = declaring;
      const found = this.foundOf(opening).map((tool) => declareTool(tool, names.given(tool.name), declaring));
      this.#tools = [...declared, ...found];
    };
  }

  protected looseIn(opening: Opening): readonly string[] {
    const { customTools } = this.#declaring;
    return notStrictTools(
      opening,
      ({ input, textFormat }) => (customTools && textFormat !== undefined) || strictSchema(input) !== undefined,
    );
  }

  protected addInput(results: readonly Fields[], messages: readonly MessageContent[]): void {
    for (const result of results) this.#messages.push(result);
    this.#messages.push(...this.#attached.splice(0));
    for (const message of messages) this.#messages.push(userMessage(message, this.media.byUrl, CONTENT));
  }

  protected send({ maxOutputTokens, toolChoice, signal }: TurnAsked): Promise<unknown> {
    const { model, baseUrl, stream } = this.options;
    const hasTools = this.#tools.length > 0;
    const params = {
      model,
      messages: this.#messages,
      ...(hasTools && {
        tools: this.#tools,
        ...callFields(toolChoice, this.settings, (choice) => toolChoiceOf(choice, this.names, this.#tools)),
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

  protected openStream(display: TurnDisplay): ChatStream {
    return new ChatStream(display);
  }

  protected readBody(body: unknown): ChatReply | undefined {
    return readCompletion(body);
  }

  protected bodyOf({ message, finishReason }: ChatReply): Fields {
    return { choices: [{ message, finish_reason: finishReason }] };
  }

  protected override bodyFor({ text, calls }: ModelTurn): Fields {
    const toolCalls = calls.map((call) => {
      const isProgram = call.type === "program_call";
      const name = isProgram ? RUN_PROGRAM : this.names.given(call.tool);
      const written = isProgram ? JSON.stringify({ code: call.source ?? "" }) : call.inputText;
      return { id: call.id, type: "function", function: { name, arguments: written } };
    });
    const message = {
      content: text === "" ? null : text,
      ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
    };
    return { choices: [{ message, finish_reason: "stop" }] };
  }

  /** Some servers end replies that call tools with `stop` too. */
  protected read({ message, finishReason, text, usage }: ChatReply) {
    const end = endOf(message, finishReason);
    if (!end) return this.fail("interrupted", "It has no finish reason.");
    const given = listOf(message, "tool_calls") as readonly Fields[];
    // Of a call in a form that was not asked for, nothing would be left.
    if (given.length === 0 && text === "" && CALLED.has(finishReason))
      return this.fail("reply_invalid", "It says that it calls tools, and has no call.", usage);
    const toolCalls = given.map((call) => this.#withId(call));
    this.#messages.push({
      ...without(message, ...REPLY_ONLY, "tool_calls"),
      role: "assistant",
      content: fieldOf(message, "content") ?? null,
      ...(toolCalls.length > 0 ? { tool_calls: toolCalls.map(sentBack) } : {}),
    });
    return { end, calls: () => toolCalls.map((call) => this.#callOf(call)) };
  }

  /** A result refers to its call by id. */
  #withId(call: Fields): Fields {
    if (textOf(call, "id")) return call;
    this.#callsWithoutId += 1;
    return { ...call, id: `call_${this.#messages.length}_call-${this.#callsWithoutId}` };
  }

  /** The provider cannot hide tools, so a deferred tool is declared once a search has found it. */
  #declareFound(result: CallResult): readonly Fields[] {
    return this.foundFirst(result).map((tool) => declareTool(tool, this.names.given(tool.name), this.#declaring));
  }

  #callOf(call: Fields): ModelCall {
    const toolCallId = textOf(call, "id") ?? "";
    const id = this.openCall(toolCallId, (result) => {
      this.#tools = [...this.#tools, ...this.#declareFound(result)];
      const { carried, told } = this.partsOf(result);
      if (carried.length > 0) this.#attached.push(attachedMessage(result, carried));
      return toolMessage(toolCallId, result, told);
    });
    const custom = fieldOf(call, "custom");
    if (isFields(custom)) {
      const tool = this.names.own(textOf(custom, "name") ?? "");
      const inputText = this.textInput(tool, textOf(custom, "input") ?? "");
      return { type: "tool_call", id, tool, caller: "direct", inputText };
    }
    const called = fieldOf(call, "function");
    const name = textOf(called, "name") ?? "";
    const inputText = textOf(called, "arguments") ?? "";
    if (name === this.opening.runProgram?.name) return { type: "program_call", id, source: sourceOf(inputText) };
    const strict = this.#declaring.strict?.get(name);
    const written = strict ? withoutNulls(inputText, strict) : inputText;
    return { type: "tool_call", id, tool: this.names.own(name), caller: "direct", inputText: written };
  }
}

function sentBack(call: Fields): Fields {
  const { function: called } = call;
  if (!isFields(called)) return call;
  return { ...call, function: { ...called, arguments: inputSentBack(textOf(called, "arguments") ?? "") } };
}
