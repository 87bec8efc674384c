import { fieldOf, type Fields, isFields, listOf, textOf } from "../../base/index.ts";
import { contentBlocks, type MessageContent } from "../turn/content-parts.ts";
import type { CallResult, HostedNews, ModelCall } from "../model.ts";
import type { TurnAsked } from "../provider/provider-conversation.ts";
import { searchOf } from "../hosted-tools.ts";
import { objectSentBack, textOfInput } from "../turn/program-input.ts";
import { DeclaringConversation, type NamedTool } from "../provider/declaring-conversation.ts";
import { inputDifferences } from "../turn/declared-input.ts";
import { flatSchema } from "./flat-schema.ts";
import { endOf, type GeminiReply, GeminiStream, isCallFragment, isReadablePart, readBody } from "./reply.ts";
import { callingMode, CONTENT, type GeminiClient, responsePart, settingsConfig, toolFields } from "./request.ts";
import { hostedEnd, hostedStart } from "../turn/hosted-calls.ts";

export { openClient } from "./request.ts";

type Params = Parameters<GeminiClient["models"]["generateContent"]>[0];

export class Conversation extends DeclaringConversation<GeminiReply, GeminiClient> {
  protected readonly Stream = GeminiStream;
  protected readonly readBody = readBody;
  readonly #contents: Fields[] = [];

  protected declareTool({ name, description, inputSchema: input }: NamedTool): Fields {
    return { name, description, parametersJsonSchema: flatSchema(input) };
  }

  override get toldOtherwise(): readonly string[] {
    return inputDifferences(this.opening.tools, flatSchema);
  }

  /** The mode `VALIDATED` holds all calls. */
  protected holds(): boolean {
    return true;
  }

  protected addInput(results: readonly Fields[], messages: readonly MessageContent[]): void {
    const parts = [...results, ...messages.flatMap((message) => contentBlocks(message, this.media.byUrl, CONTENT))];
    if (parts.length > 0) this.#contents.push({ role: "user", parts });
  }

  protected send({ maxOutputTokens, toolChoice, signal }: TurnAsked): Promise<unknown> {
    const { model, stream } = this.options;
    const searches = searchOf(this.settings) !== undefined;
    const mode = callingMode(toolChoice, this.names, this.isStrict);
    const params = {
      model,
      // The SDK drops parts and fields that it does not know, signed ones too. It gets only the user's content, and the
      // body gets the whole history unchanged.
      contents: this.#contents.slice(-1),
      config: {
        httpOptions: { extraBody: { contents: this.#contents } },
        systemInstruction: this.opening.instructions,
        maxOutputTokens,
        abortSignal: signal,
        automaticFunctionCalling: { disable: true },
        ...toolFields(this.declarations, mode, searches),
        ...settingsConfig(this.settings, this.declarations.length > 0),
      },
    } as unknown as Params;
    const { models } = this.client;
    return stream ? models.generateContentStream(params) : models.generateContent(params);
  }

  protected bodyOf({ parts, finishReason, blockReason, grounding }: GeminiReply): Fields {
    const promptFeedback = blockReason === undefined ? undefined : { blockReason };
    return { candidates: [{ content: { parts }, finishReason, groundingMetadata: grounding }], promptFeedback };
  }

  protected read({ parts, finishReason, blockReason, grounding, usage }: GeminiReply) {
    if (blockReason !== undefined) {
      const end = { type: "refused", reason: `Gemini does not take the prompt: ${blockReason}.` } as const;
      return { text: "", end, calls: () => [] };
    }
    const end = endOf(finishReason);
    if (!end) {
      const code = finishReason === undefined && this.options.stream ? "interrupted" : "reply_invalid";
      return this.fail(code, finishReason ?? "", usage);
    }
    if (!parts.every(isReadablePart)) return this.fail("reply_invalid", "A call of it is no object.", usage);
    if (parts.some(isCallFragment)) return this.fail("reply_invalid", "It holds a part of a call.", usage);
    if (parts.length > 0) this.#contents.push({ role: "model", parts: parts.map(sentBack) });
    const hosted = hostedNews(parts, grounding, this.#contents.length);
    const cited = citationsIn(grounding);
    const calls = () => parts.flatMap(({ functionCall }) => (isFields(functionCall) ? this.#callOf(functionCall) : []));
    const unread = parts.filter((part) => !Object.keys(part).some((name) => KNOWN.has(name)));
    return { end, hosted, cited, calls, unread: unread.map((part) => ({ type: Object.keys(part)[0] })) };
  }

  #callOf(functionCall: Fields): ModelCall {
    const resultOf = (result: CallResult) => responsePart(functionCall, result, this.partsOf(result));
    const id = this.openCall(textOf(functionCall, "id"), resultOf);
    return this.callNamed(id, textOf(functionCall, "name") ?? "", textOfInput(fieldOf(functionCall, "args")));
  }
}

/** Fields by which a part is of a kind that there was. */
const KNOWN = new Set(
  "text thought thoughtSignature functionCall functionResponse inlineData fileData executableCode codeExecutionResult toolCall toolResponse".split(
    " ",
  ),
);

function sentBack(part: Fields): Fields {
  const { functionCall } = part;
  const args = fieldOf(functionCall, "args");
  return args === undefined || isFields(args)
    ? part
    : { ...part, functionCall: { ...(functionCall as Fields), args: objectSentBack(args) } };
}

/** What Gemini ran itself: the calls among the parts, or a search of which only the grounding tells. `turn` makes ids. */
function hostedNews(parts: readonly Fields[], grounding: unknown, turn: number): readonly HostedNews[] {
  let begun = "";
  const news = parts.flatMap((part, place) => {
    // A result without an id belongs to the call before it.
    if (isFields(part.toolCall) || isFields(part.executableCode)) begun = `hosted_${turn}_${place}`;
    return newsOf(part, begun);
  });
  const queries = listOf(grounding, "webSearchQueries");
  if (news.length > 0 || queries.length === 0) return news;
  const call = { call: `hosted_${turn}`, tool: "google_search", input: { queries } };
  return [hostedStart(call), hostedEnd(call, { isError: false, sources: citationsIn(grounding) })];
}

function newsOf(part: Fields, callId: string): readonly HostedNews[] {
  const { toolCall, toolResponse, executableCode, codeExecutionResult } = part;
  const ran = [toolCall, toolResponse, executableCode, codeExecutionResult].find(isFields);
  if (!ran) return [];
  const isCode = ran === executableCode || ran === codeExecutionResult;
  const tool = isCode ? "code_execution" : (textOf(ran, "toolType") ?? "tool").toLowerCase();
  const about = { call: textOf(ran, "id") ?? callId, tool };
  if (ran === toolCall) return [hostedStart({ ...about, input: fieldOf(ran, "args") ?? {} })];
  if (ran === executableCode) return [hostedStart({ ...about, input: textOf(ran, "code") ?? "" })];
  const output = isCode ? textOf(ran, "output") : textOf(fieldOf(ran, "response"), "error");
  const isError = isCode ? textOf(ran, "outcome") !== "OUTCOME_OK" : output !== undefined;
  return [hostedEnd(about, { isError, output })];
}

function citationsIn(grounding: unknown): readonly unknown[] {
  return listOf(grounding, "groundingChunks").map(
    (chunk) => fieldOf(chunk, "web") ?? fieldOf(chunk, "retrievedContext"),
  );
}
