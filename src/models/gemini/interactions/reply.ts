import { countOf, fieldOf, type Fields, isFields, listOf, textOf } from "../../../values/fields.ts";
import type { ModelUsage, TurnEnd } from "../../model.ts";
import { type ProviderReply, ReplyStream } from "../../provider/provider-conversation.ts";
import { endSaidBy } from "../../turn/stop-reason.ts";
import { writtenText } from "../../turn/written-text.ts";
import { StreamedStep } from "./streamed-step.ts";

/** A whole interaction, its steps as they go back in the next request. */
export interface InteractionReply extends ProviderReply {
  readonly steps: readonly Fields[];
  /** By the place of a call: the text of its input, if it is no JSON object. */
  readonly unreadInputs: Readonly<Record<number, string>>;
  readonly status: string | undefined;
  /** The provider's words for an interaction that failed. */
  readonly error: unknown;
}

/** Reads an interaction; undefined if a step of it is malformed. */
export function readInteraction(
  interaction: unknown,
  steps: unknown = fieldOf(interaction, "steps"),
  unreadInputs: Readonly<Record<number, string>> = {},
): InteractionReply | undefined {
  const status = textOf(interaction, "status");
  // A list without entries may be missing.
  const given = steps ?? (status === undefined ? undefined : []);
  if (!Array.isArray(given) || !given.every(isFields) || !given.every(isStep)) return undefined;
  return {
    messageId: textOf(interaction, "id"),
    steps: given,
    unreadInputs,
    text: textsOf(given, "model_output", "content").join(""),
    reasoning: textsOf(given, "thought", "summary").join(""),
    status,
    error: fieldOf(interaction, "error") ?? listOf(interaction, "errors")[0],
    usage: usageOf(fieldOf(interaction, "usage")),
  };
}

function usageOf(usage: unknown): ModelUsage {
  return {
    inputTokens: countOf(usage, "total_input_tokens") + countOf(usage, "total_tool_use_tokens"),
    outputTokens: countOf(usage, "total_output_tokens") + countOf(usage, "total_thought_tokens"),
    cachedInputTokens: countOf(usage, "total_cached_tokens"),
  };
}

/** A call has its id, its name and no input but an object: without them its result would belong to no call. */
function isStep(step: Fields): boolean {
  if (!textOf(step, "type")) return false;
  if (step.type !== "function_call") return true;
  const input = fieldOf(step, "arguments") ?? {};
  return Boolean(textOf(step, "id")) && Boolean(textOf(step, "name")) && isFields(input);
}

function textsOf(steps: readonly Fields[], type: string, field: string): readonly string[] {
  return steps
    .filter((step) => step.type === type)
    .flatMap((step) => listOf(step, field))
    .map((part) => textOf(part, "text") ?? "");
}

/** How the turn ends; undefined if its status is none of an interaction that ended. */
export function endOf({ status, steps }: InteractionReply): TurnEnd | undefined {
  const fault = steps.map((step) => step.type === "model_output" && fieldOf(step, "error")).find(isFields);
  if (fault) return { type: "refused", reason: `Gemini stopped the reply: ${textOf(fault, "message") ?? ""}` };
  if (status === "requires_action")
    return steps.some(({ type }) => type === "function_call") ? { type: "answered" } : undefined;
  if (status !== undefined && CUT_OFF.has(status)) return { type: "cut_off", reason: status };
  return isWhole(status) ? { type: "answered" } : undefined;
}

/** A continuation would be more requests than are counted. */
const CUT_OFF: ReadonlySet<string> = new Set(["incomplete", "budget_exceeded", "requires_continuation"]);

function isWhole(status: string | undefined): boolean {
  return status !== undefined && endSaidBy(status) === "whole";
}

/** Puts a streamed interaction together from its steps. */
export class InteractionStream extends ReplyStream<InteractionReply> {
  readonly #steps = new Map<number, StreamedStep>();
  readonly #open = new Set<number>();
  #last: unknown;
  #usage: unknown;

  take(event: unknown): void {
    const type = textOf(event, "event_type");
    if (type === undefined) throw new SyntaxError("An event of the reply has no kind.");
    this.#usage = usageIn(event) ?? this.#usage;
    if (type === "step.start") this.#start(placeOf(event), fieldOf(event, "step"));
    else if (type === "step.delta") this.#add(placeOf(event), fieldOf(event, "delta"));
    else if (type === "step.stop") {
      if (!this.#open.delete(placeOf(event))) throw new SyntaxError("A step of the reply ends that is not open.");
    } else if (type === "interaction.completed") this.#end(fieldOf(event, "interaction"));
  }

  /** An interaction that was not completed stays so, whatever later events say. */
  #end(interaction: unknown): void {
    if (this.#last === undefined || isWhole(textOf(this.#last, "status"))) this.#last = interaction;
  }

  #start(place: number, begun: unknown): void {
    if (!isFields(begun)) throw new SyntaxError("A step of the reply is no object.");
    if (this.#steps.has(place)) throw new SyntaxError(`Two steps of the reply have the place ${place}.`);
    const step = new StreamedStep(begun);
    this.#steps.set(place, step);
    this.#open.add(place);
    if (step.kind === "function_call") this.display.beginCall(place, step.name);
    for (const text of textsOf([begun], "model_output", "content")) this.display.text(text);
  }

  #add(place: number, piece: unknown): void {
    const step = this.#steps.get(place);
    if (!step || !this.#open.has(place) || !isFields(piece))
      throw new SyntaxError("A piece of the reply belongs to no open step.");
    const text = textOf(piece, "text") ?? "";
    switch (piece.type) {
      case "arguments_delta": {
        const input = writtenText(piece, "arguments");
        step.addInput(input);
        return this.display.argument(place, input);
      }
      case "text":
        step.addText(text);
        return step.kind === "model_output" ? this.display.text(text) : undefined;
      case "thought_summary": {
        const content = fieldOf(piece, "content");
        step.addSummary(content);
        return step.kind === "thought" ? this.display.reasoning(textOf(content, "text") ?? "") : undefined;
      }
      case "thought_signature":
        return step.sign(piece.signature);
      case "text_annotation_delta":
        return step.addAnnotations(listOf(piece, "annotations"));
      default:
        return step.addOther(piece);
    }
  }

  /** The reply; undefined if it broke off. Throws a `SyntaxError` for steps that are malformed. */
  get reply(): InteractionReply | undefined {
    if (this.#last === undefined) return undefined;
    if (this.#open.size > 0 && isWhole(textOf(this.#last, "status"))) return undefined;
    const read = this.#steps.size === 0 ? readInteraction(this.#last) : this.#readSteps();
    if (!read) throw new SyntaxError("A step of the reply is malformed.");
    return { ...read, usage: this.usage ?? read.usage };
  }

  #readSteps(): InteractionReply | undefined {
    const unread: Record<number, string> = {};
    const inOrder = [...this.#steps].toSorted(([a], [b]) => a - b);
    const steps = inOrder.map(([, streamed], index) => {
      const { step, unread: text } = streamed.whole;
      if (text !== undefined) unread[index] = text;
      return step;
    });
    return readInteraction(this.#last, steps, unread);
  }

  override get usage(): ModelUsage | undefined {
    return this.#usage === undefined ? undefined : usageOf(this.#usage);
  }
}

/** The tokens that the whole interaction has used up to an event. */
function usageIn(event: unknown): Fields | undefined {
  const places = [fieldOf(event, "interaction"), event, { usage: fieldOf(fieldOf(event, "metadata"), "total_usage") }];
  return places.map((place) => fieldOf(place, "usage")).find(isFields);
}

function placeOf(event: unknown): number {
  const index = fieldOf(event, "index");
  if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0)
    throw new SyntaxError("A step of the reply has no place.");
  return index;
}
