import { fieldOf, type Fields, isFields, listOf, textOf } from "../../../base/index.ts";
import { searchOf } from "../../hosted-tools.ts";
import type { Conversation, HostedNews, ModelCall } from "../../model.ts";
import type { ConversationParts, TurnAsked } from "../../provider/provider-conversation.ts";
import { ErrorReply } from "../../provider/reply-parts.ts";
import { partsOf } from "../../provider/reply-stream.ts";
import { contentBlocks, type MessageContent } from "../../turn/content-parts.ts";
import { GeminiProtocol } from "../gemini-protocol.ts";
import { type GeminiClient, openClient } from "../request.ts";
import { endOf, type InteractionReply, InteractionStream, readInteraction } from "./reply.ts";
import { CONTENT, generationSettings, interactionTools, responseFormat, resultStep, toolChoiceOf } from "./request.ts";
import { hostedEnd, hostedStart } from "../../turn/hosted-calls.ts";

type Params = Parameters<GeminiClient["interactions"]["create"]>[0];

export async function converseByInteractions(parts: ConversationParts): Promise<Conversation> {
  return new InteractionsConversation(parts, await openClient(parts));
}

class InteractionsConversation extends GeminiProtocol<InteractionReply> {
  protected readonly Stream = InteractionStream;
  protected readonly readBody = readInteraction;
  readonly #isStored = this.options.own.store === true;
  /** All steps, for a server that no longer has the stored ones. */
  readonly #steps: Fields[] = [];
  /** The stored interaction that holds the first `#storedSteps` steps. */
  #previousId: string | undefined;
  #storedSteps = 0;

  protected addInput(results: readonly Fields[], messages: readonly MessageContent[]): void {
    for (const result of results) this.#steps.push(result);
    for (const message of messages)
      this.#steps.push({ type: "user_input", content: contentBlocks(message, this.media.byUrl, CONTENT) });
  }

  protected async send(asked: TurnAsked): Promise<unknown> {
    if (this.#previousId === undefined) return this.#create(asked, this.#steps);
    try {
      return await this.#create(asked, this.#steps.slice(this.#storedSteps), this.#previousId);
    } catch (error) {
      if (!isForgotten(error, this.#previousId)) throw error;
      this.#previousId = undefined;
      return this.#create(asked, this.#steps);
    }
  }

  #create({ maxOutputTokens, toolChoice, signal }: TurnAsked, input: readonly Fields[], previousId?: string) {
    const { model, stream } = this.options;
    const hasTools = this.declarations.length > 0;
    const tools = interactionTools(this.declarations, searchOf(this.settings) !== undefined);
    const params = {
      model,
      input,
      system_instruction: this.opening.instructions,
      ...(tools.length > 0 ? { tools } : {}),
      generation_config: {
        max_output_tokens: maxOutputTokens,
        ...generationSettings(this.settings),
        ...(hasTools ? { tool_choice: toolChoiceOf(toolChoice, this.names, this.isStrict) } : {}),
      },
      ...responseFormat(this.settings, hasTools),
      store: this.#isStored,
      ...(previousId === undefined ? {} : { previous_interaction_id: previousId }),
      stream,
      // A reply that goes on by itself would be more requests than are counted.
      automatic_continuation: false,
    } as unknown as Params;
    return this.client.interactions.create(params, { signal, maxRetries: 0 }) as Promise<unknown>;
  }

  protected bodyOf({ messageId: id, steps, status, error }: InteractionReply): Fields {
    return { id, steps, status, error };
  }

  protected read(reply: InteractionReply) {
    const { steps, status, error, usage, messageId } = reply;
    if (status === "failed" || isFields(error)) throw new ErrorReply(error, usage);
    const end = endOf(reply);
    if (!end) return this.fail("reply_invalid", `Its status is ${JSON.stringify(status ?? null)}.`, usage);
    for (const step of steps) this.#steps.push(step);
    if (this.#isStored) {
      this.#previousId = messageId || undefined;
      this.#storedSteps = this.#steps.length;
    }
    return {
      end,
      hosted: steps.flatMap(hostedStepNews),
      cited: partsOf(steps, "model_output", "content").flatMap((part) => listOf(part, "annotations")),
      unread: steps.filter((step) => !isRead(step)),
      calls: () =>
        steps.flatMap((step, place) =>
          step.type === "function_call" ? [this.#callOf(step, reply.unreadInputs[place])] : [],
        ),
    };
  }

  #callOf(step: Fields, unread: string | undefined): ModelCall {
    const inputText = unread ?? JSON.stringify(fieldOf(step, "arguments") ?? {});
    return this.callOf(step, inputText, (result) => resultStep(step, result, this.partsOf(result)));
  }
}

/** How much of a provider's words is looked at, in UTF-16 code units. */
const WORDS_LENGTH = 2000;

const STATUSES: ReadonlySet<unknown> = new Set([400, 403, 404, 410]);
const NAMES = /\binteraction\b|previous_interaction_id|turn token|requested entity/i;
const IS_GONE = /not found|invalid|unknown|expired|deleted|no longer|exist/i;

/**
 * Whether a server that was asked to go on from an interaction says that it does not have it. Nothing documents the
 * words; servers were seen to say status 400 with "Invalid turn token: ID", and 404 with "not found". An error about
 * anything else, like an unknown model, would be the same for the whole history.
 */
function isForgotten(error: unknown, interaction: string | undefined): boolean {
  if (interaction === undefined || !(error instanceof Error)) return false;
  const words = error.message.slice(0, WORDS_LENGTH);
  const isNamed = NAMES.test(words) || words.includes(interaction);
  return STATUSES.has((error as { readonly status?: unknown }).status) && isNamed && IS_GONE.test(words);
}

const CALL = "_call";
const RESULT = "_result";

/** Whether steps of this kind are read. */
function isRead(step: Fields): boolean {
  const type = textOf(step, "type") ?? "";
  return type === "model_output" || type === "thought" || /_(?:call|result)$/.test(type);
}

/** What Gemini ran itself: a step is a call of it or the result of one, and no function of ours. */
function hostedStepNews(step: Fields): readonly HostedNews[] {
  const type = textOf(step, "type") ?? "";
  if (type === "function_call" || type === "function_result") return [];
  const call = textOf(step, "id");
  if (type.endsWith(CALL) && call) {
    const tool = toolOf(step, type.slice(0, -CALL.length));
    const input = fieldOf(step, "arguments") ?? {};
    return [hostedStart({ call, tool, input: textOf(input, "code") ?? input })];
  }
  const ended = textOf(step, "call_id");
  if (!type.endsWith(RESULT) || !ended) return [];
  const about = { call: ended, tool: toolOf(step, type.slice(0, -RESULT.length)) };
  const texts = listOf(step, "result").flatMap((part) => textOf(part, "text") ?? []);
  const output = textOf(step, "result") ?? texts.join("\n");
  return [
    hostedEnd(about, {
      isError: step.is_error === true,
      ...(output === "" ? {} : { output }),
      sources: listOf(step, "result"),
    }),
  ];
}

function toolOf(step: Fields, kind: string): string {
  if (kind !== "mcp_server_tool") return kind;
  return `${textOf(step, "server_name") ?? "mcp"}.${textOf(step, "name") ?? ""}`;
}
