import { countOf, fieldOf, type Fields, isFields, listOf, textOf } from "../../../base/index.ts";
import type { ModelUsage, TurnEnd } from "../../model.ts";
import type { ProviderReply } from "../../provider/provider-conversation.ts";
import { type Growth, partsOf, placeIn, type OpenPart, ReplyStream } from "../../provider/reply-stream.ts";
import { inputOf, objectSentBack } from "../../turn/program-input.ts";
import { endSaidBy } from "../../turn/stop-reason.ts";

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
  return partsOf(steps, type, field).map((part) => textOf(part, "text") ?? "");
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

/** The pieces of steps by their types. Texts, and what is noted about them, belong to parts within a step. */
const GROWTHS: ReadonlyMap<string, Growth> = new Map<string, Growth>([
  ["arguments_delta", { input: "arguments" }],
  ["thought_signature", { fields: ["signature"] }],
]);

/** Pieces that are a part of a step's content by themselves. */
const MEDIA: ReadonlySet<string> = new Set(["image", "audio", "video", "document"]);

/** Puts a streamed interaction together from its steps. */
export class InteractionStream extends ReplyStream<InteractionReply> {
  #last: unknown;
  #usage: unknown;

  take(event: unknown): void {
    const type = textOf(event, "event_type");
    if (type === undefined) throw new SyntaxError("An event of the reply has no kind.");
    this.#usage = usageIn(event) ?? this.#usage;
    if (type === "step.start") {
      const place = placeIn(event, "index");
      const { fields } = this.begin(place, fieldOf(event, "step"));
      if (fields.type === "function_call") this.display.beginCall(place, textOf(fields, "name") ?? "");
      for (const text of textsOf([fields], "model_output", "content")) this.display.text(text);
    } else if (type === "step.delta") this.#add(placeIn(event, "index"), fieldOf(event, "delta"));
    else if (type === "step.stop") this.end(placeIn(event, "index"));
    else if (type !== "interaction.completed") return;
    // An interaction that was not completed stays so, whatever later events say.
    else if (this.#last === undefined || isWhole(textOf(this.#last, "status")))
      this.#last = fieldOf(event, "interaction");
  }

  #add(place: number, piece: unknown): void {
    const part = this.grow(place, piece, GROWTHS);
    if (!part || !isFields(piece)) return;
    const { fields } = part;
    const [type, text] = [textOf(piece, "type") ?? "", textOf(piece, "text") ?? ""];
    if (type === "text") {
      const last = this.#textIn(fields);
      last.text = (textOf(last, "text") ?? "") + text;
      if (fields.type === "model_output") this.display.text(text);
    } else if (type === "text_annotation_delta") {
      const annotations = this.listOf(this.#lastIn(fields) ?? this.#textIn(fields), "annotations");
      for (const annotation of listOf(piece, "annotations")) annotations.push(annotation);
    } else if (type === "thought_summary") {
      const content = fieldOf(piece, "content");
      this.listOf(fields, "summary").push(content);
      if (fields.type === "thought") this.display.reasoning(textOf(content, "text") ?? "");
    } else this.#addOther(part, type, piece);
  }

  /** Throws a `SyntaxError` if a call would not be what was begun. */
  #addOther({ fields }: OpenPart, type: string, piece: Fields): void {
    if (fields.type === "function_call") throw new SyntaxError("A piece of a call is of another kind.");
    // Calls of the provider's own tools, and their results, come whole.
    if (type === fields.type) {
      for (const [name, value] of Object.entries(piece)) if (name !== "__proto__") fields[name] = value;
    } else if (MEDIA.has(type)) this.listOf(fields, "content").push({ ...piece });
  }

  #lastIn(fields: Record<string, unknown>): Record<string, unknown> | undefined {
    const last = this.listOf(fields, "content").at(-1);
    return isFields(last) ? last : undefined;
  }

  /** Pieces of a text are one part, unless the part before them is no text. */
  #textIn(fields: Record<string, unknown>): Record<string, unknown> {
    const last = this.#lastIn(fields);
    if (last?.type === "text") return last;
    const part = { type: "text", text: "" };
    this.listOf(fields, "content").push(part);
    return part;
  }

  /** The reply; undefined if it broke off. Throws a `SyntaxError` for steps that are malformed. */
  get reply(): InteractionReply | undefined {
    if (this.#last === undefined) return undefined;
    const { parts } = this;
    if (!parts.every(({ isOver }) => isOver) && isWhole(textOf(this.#last, "status"))) return undefined;
    const steps = parts.map(stepOf);
    const unread = steps.flatMap(({ text }, place) => (text === undefined ? [] : [[place, text] as const]));
    const read =
      parts.length === 0
        ? readInteraction(this.#last)
        : readInteraction(
            this.#last,
            steps.map(({ step }) => step),
            Object.fromEntries(unread),
          );
    if (!read) throw new SyntaxError("A step of the reply is malformed.");
    return { ...read, usage: this.usage ?? read.usage };
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

/** A step as it goes back, and the text of its input if that is no JSON object. */
function stepOf({ fields, input: text = "" }: OpenPart): { readonly step: Fields; readonly text?: string } {
  if (fields.type !== "function_call" && text === "") return { step: fields };
  const input = text === "" ? (fields.arguments ?? {}) : inputOf(text);
  if (isFields(input)) return { step: { ...fields, arguments: input } };
  return { step: { ...fields, arguments: objectSentBack(text || input) }, text: text || JSON.stringify(input) };
}
