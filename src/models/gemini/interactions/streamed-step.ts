import { fieldOf, type Fields, isFields, listOf, textOf } from "../../../values/fields.ts";
import { inputOf, objectSentBack } from "../../turn/program-input.ts";

/** Pieces that are a part of a step's content by themselves. */
const MEDIA: ReadonlySet<unknown> = new Set(["image", "audio", "video", "document"]);

interface Part {
  readonly part: Fields;
  /** Pieces of the part's text. */
  readonly texts: string[];
  readonly annotations: unknown[];
}

/** A step while its pieces arrive. Lists grow in place: a copy with each piece would take quadratic time. */
export class StreamedStep {
  readonly kind: string;
  readonly name: string;
  #fields: Fields;
  readonly #parts: Part[];
  readonly #summary: unknown[];
  readonly #inputs: string[] = [];

  constructor(begun: Fields) {
    this.#fields = begun;
    this.kind = textOf(begun, "type") ?? "";
    this.name = textOf(begun, "name") ?? "";
    this.#parts = listOf(begun, "content").filter(isFields).map(partOf);
    this.#summary = [...listOf(begun, "summary")];
  }

  addInput(piece: string): void {
    this.#inputs.push(piece);
  }

  /** Pieces of a text are one part, unless the part before them is no text. */
  addText(text: string): void {
    this.#textPart().texts.push(text);
  }

  addAnnotations(annotations: readonly unknown[]): void {
    const { annotations: before } = this.#parts.at(-1) ?? this.#textPart();
    for (const annotation of annotations) before.push(annotation);
  }

  addSummary(content: unknown): void {
    this.#summary.push(content);
  }

  sign(signature: unknown): void {
    this.#fields = { ...this.#fields, signature };
  }

  /** A piece of another kind. Throws a `SyntaxError` if a call would not be what was begun. */
  addOther(piece: Fields): void {
    const { type, ...fields } = piece;
    if (this.kind === "function_call") throw new SyntaxError("A piece of a call is of another kind.");
    // Calls of the provider's own tools, and their results, come whole.
    if (type === this.kind) this.#fields = { ...this.#fields, ...fields };
    else if (MEDIA.has(type)) this.#parts.push(partOf(piece));
  }

  #textPart(): Part {
    const last = this.#parts.at(-1);
    if (last?.part.type === "text") return last;
    const part = partOf({ type: "text", text: "" });
    this.#parts.push(part);
    return part;
  }

  /** The step as it goes back, and the text of its input if it is no JSON object. */
  get whole(): { readonly step: Fields; readonly unread?: string } {
    const step = {
      ...this.#fields,
      ...(this.#parts.length > 0 && { content: this.#parts.map(joined) }),
      ...(this.#summary.length > 0 && { summary: this.#summary }),
    };
    const text = this.#inputs.join("");
    if (this.kind !== "function_call" && text === "") return { step };
    const input = text === "" ? (fieldOf(step, "arguments") ?? {}) : inputOf(text);
    if (isFields(input)) return { step: { ...step, arguments: input } };
    return { step: { ...step, arguments: objectSentBack(text || input) }, unread: text || JSON.stringify(input) };
  }
}

function partOf(part: Fields): Part {
  return { part, texts: [], annotations: [] };
}

function joined({ part, texts, annotations }: Part): Fields {
  return {
    ...part,
    ...(texts.length > 0 && { text: (textOf(part, "text") ?? "") + texts.join("") }),
    ...(annotations.length > 0 && { annotations: [...listOf(part, "annotations"), ...annotations] }),
  };
}
