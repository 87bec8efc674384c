import { type Fields, isFields, listOf, textOf, without } from "../../../base/index.ts";
import type { MessageContent } from "../../turn/content-parts.ts";
import type { HostedNews, ModelCall, ToolDeclaration } from "../../model.ts";
import { type OpenAiClient, strictInput, userMessage } from "../openai-request.ts";
import { type ForeignCall, ProviderConversation, type TurnAsked } from "../../provider/provider-conversation.ts";
import { ErrorReply } from "../../provider/reply-parts.ts";
import { partsOfItems } from "../../provider/reply-stream.ts";
import { inputSentBack } from "../../turn/program-input.ts";
import { hostedEnd, hostedStart } from "../../turn/hosted-calls.ts";
import { searchOf } from "../../hosted-tools.ts";
import { strictSchema } from "../openai-strict-schema.ts";
import { hostedCallOf, isRead } from "./hosted-items.ts";
import { calledName, callerOf, endOf, readResponse, type ResponsesReply, ResponsesStream } from "./reply.ts";
import {
  additionalTools,
  CONTENT,
  declareTools,
  outputItem,
  programOutputItem,
  settingsFields,
  toolChoiceOf,
} from "./request.ts";

export { openClient } from "../openai-request.ts";

type Params = Parameters<OpenAiClient["responses"]["create"]>[0];

export class Conversation extends ProviderConversation<ResponsesReply, OpenAiClient> {
  protected readonly Stream = ResponsesStream;
  protected readonly readBody = readResponse;
  readonly #tools = declareTools(this.opening, this.names, this.isStrict);
  readonly #isStored = this.options.own.store === true;
  /** Input of the next request: the whole history, or what is new if OpenAI stores the rest. */
  #input: Fields[] = [];
  #previousId: string | undefined;
  readonly #additional: Fields[] = [];

  /** Tools for texts are declared as such, and need no schema. */
  protected holds({ inputSchema: input, textFormat }: ToolDeclaration): boolean {
    return textFormat !== undefined || strictSchema(input) !== undefined;
  }

  protected override declareFound(found: readonly ToolDeclaration[]): void {
    this.#additional.push(additionalTools(found, this.names, this.isStrict));
  }

  protected addInput(results: readonly Fields[], messages: readonly MessageContent[]): void {
    for (const result of results) this.#input.push(result);
    this.#input.push(...this.#additional.splice(0));
    for (const message of messages) this.#input.push(userMessage(message, this.media.byUrl, CONTENT));
  }

  protected send({ maxOutputTokens, toolChoice, signal }: TurnAsked): Promise<unknown> {
    const { model, stream } = this.options;
    const { compactAt } = this.opening;
    const include = [
      this.#isStored ? [] : "reasoning.encrypted_content",
      searchOf(this.settings) ? "web_search_call.action.sources" : [],
    ].flat();
    const params = {
      model,
      instructions: this.opening.instructions,
      input: this.#input,
      tools: this.#tools,
      ...(this.#tools.length > 0 && {
        tool_choice: toolChoiceOf(toolChoice, this.opening, this.names),
        parallel_tool_calls: this.settings.parallelCalls === false ? false : undefined,
      }),
      ...settingsFields(this.settings),
      store: this.#isStored,
      context_management: compactAt === undefined ? undefined : [{ type: "compaction", compact_threshold: compactAt }],
      max_output_tokens: maxOutputTokens,
      // What OpenAI leaves out of its replies unless it is asked for.
      include: include.length === 0 ? undefined : include,
      previous_response_id: this.#previousId,
      stream,
    } as unknown as Params;
    return this.client.responses.create(params, { signal });
  }

  protected bodyOf({ messageId: id, items, status, incompleteReason, error }: ResponsesReply): Fields {
    const details = incompleteReason === undefined ? undefined : { reason: incompleteReason };
    return { id, output: items, status, incomplete_details: details, error };
  }

  /** OpenAI stores no turn that it has not made. */
  protected override bodyFor(text: string, calls: readonly ForeignCall[]): Fields | undefined {
    if (this.#isStored) return undefined;
    const content = [{ type: "output_text", text, annotations: [] }];
    const output = [
      ...(text === "" ? [] : [{ type: "message", role: "assistant", content }]),
      ...calls.map(({ id, name, source, inputText }) =>
        source === undefined
          ? { type: "function_call", call_id: id, name, arguments: inputText, status: "completed" }
          : { type: "custom_tool_call", call_id: id, name, input: source },
      ),
    ];
    return { output, status: "completed" };
  }

  protected read(reply: ResponsesReply) {
    const { messageId: id, status, error, usage } = reply;
    if (status === "failed" || isFields(error)) throw new ErrorReply(error, usage);
    const end = endOf(reply);
    if (!end) return this.fail("reply_invalid", `Its status is ${JSON.stringify(status ?? null)}.`, usage);
    const items = withCallIds(reply.items);
    if (!items)
      return this.fail("reply_invalid", "A call, or a program, has no id by which it could be answered.", usage);
    if (!items.every(isReadable)) return this.fail("reply_invalid", "The input of a call is no text.", usage);
    // What stands for the history before it has to be there.
    if (items.some(({ type, encrypted_content: sealed }) => type === "compaction" && typeof sealed !== "string"))
      return this.fail("reply_invalid", "It made the history shorter, and does not say to what.", usage);
    if (this.#isStored) {
      this.#input = [];
      this.#previousId = id;
    } else
      for (const item of items) {
        const back = without(item, "created_by");
        const written =
          item.type === "function_call" ? { arguments: inputSentBack(textOf(item, "arguments") ?? "") } : {};
        this.#input.push({ ...back, ...written });
      }
    return {
      end,
      hosted: items.flatMap((item) => this.#newsOf(item)),
      cited: partsOfItems(items, "message", "content").flatMap((part) => listOf(part, "annotations")),
      unread: items.filter((item) => !isRead(item)),
      calls: () => items.filter(isCall).map((item) => this.#callOf(item)),
    };
  }

  #callOf(item: Fields): ModelCall {
    const caller = callerOf(item.caller);
    const id = this.openCall(callIdOf(item), (result) =>
      caller === "direct" ? outputItem(item, result, this.partsOf(result)) : programOutputItem(item, result),
    );
    const name = calledName(item);
    const isText = item.type === "custom_tool_call";
    const text = textOf(item, isText ? "input" : "arguments") ?? "";
    if (isText && name === this.opening.runProgram?.name && caller === "direct")
      return { type: "program_call", id, source: text };
    const tool = this.names.own(name);
    const inputText = isText
      ? this.textInput(tool, text)
      : this.isStrict
        ? strictInput(this.tools.get(tool), text)
        : text;
    const program = textOf(item.caller, "caller_id");
    return { type: "tool_call", id, tool, caller, inputText, program };
  }

  #newsOf(item: Fields): HostedNews[] {
    const hosted = hostedCallOf(item);
    if (hosted) return [hostedStart(hosted), hostedEnd(hosted, hosted)];
    const program = callIdOf(item);
    if (item.type === "program")
      return [{ type: "hosted_program_started", program, source: textOf(item, "code") ?? "" }];
    if (item.type !== "program_output") return [];
    const [output, isError] = [textOf(item, "result"), item.status !== "completed"];
    return [{ type: "hosted_program_ended", program, output, isError }];
  }
}

/** Every call has one: `withCallIds` has seen to it. */
function callIdOf(item: Fields): string {
  return textOf(item, "call_id") ?? "";
}

/** Whether the call that an item may be can be read. Some servers leave out arguments without fields. */
function isReadable(item: Fields): boolean {
  if (!isCall(item)) return true;
  const input = item.type === "custom_tool_call" ? item.input : (item.arguments ?? "");
  return typeof input === "string";
}

function isCall({ type }: Fields): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

/**
 * The items with a call id for each call and program: some compatible servers send the item's own id alone. Undefined if
 * one has no id: its result would belong to no call. The end of a program has an id of its own, which names no program.
 */
function withCallIds(items: readonly Fields[]): readonly Fields[] | undefined {
  const named = items.map((item) => {
    const isEnd = item.type === "program_output";
    if (!(isCall(item) || isEnd || item.type === "program") || textOf(item, "call_id")) return item;
    const id = isEnd ? undefined : textOf(item, "id");
    return id ? { ...item, call_id: id } : undefined;
  });
  return named.every((item) => item !== undefined) ? named : undefined;
}
