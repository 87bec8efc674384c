import { describe, fieldOf, type Fields, isFields, listOf, textOf, untrusted } from "../../../../base/index.ts";
import type { ContentPart, MessagePart } from "../../../../models/model.ts";
import { callerOf } from "../../../../models/openai/responses/reply.ts";
import { HistoryReader, type HistoryWords } from "../history-reader.ts";
import { type AskedAnswer, type AskedHistory, refused, type StoredItems } from "../surface.ts";

const WORDS: HistoryWords = {
  unanswered: (ids) => `No tool output found for function call ${ids.join(", ").slice(0, 500)}.`,
  unexpectedAnswer: (id) => `No tool call found for function call output with call_id ${id}.`,
  unexpectedEnd: (id) => `No program found for program output with call_id ${id}.`,
  noProgram: "No program found for the caller of this function call.",
  repeatedId: "Two calls have this id.",
  saidWhileWaiting: "While a program waits, the input may only have the outputs of its calls.",
  onlyText: "Outputs of calls that programs make may only have text.",
};

export interface AskedItems extends AskedHistory {
  /** What names the state of the last program. */
  readonly fingerprint: string | undefined;
}

/** Reads the input of a request. `stored` are the items of this server that it refers to. */
export function readItems(body: unknown, stored: StoredItems, goesOn: boolean): AskedItems {
  const input = fieldOf(body, "input");
  const items = typeof input === "string" ? [{ role: "user", content: input }] : input;
  if (!Array.isArray(items)) throw refused("input", "expected a string or an array of items");
  if (items.length === 0 && !goesOn) throw refused("input", "expected at least one item");
  const reader = new ItemsReader(new HistoryReader(WORDS, goesOn), stored);
  for (const [index, item] of (items as readonly unknown[]).entries()) reader.take(item, `input[${index}]`);
  return reader.end();
}

class ItemsReader {
  readonly #history: HistoryReader;
  readonly #stored: StoredItems;
  readonly #referred = new Set<string>();
  #fingerprint: string | undefined;

  constructor(history: HistoryReader, stored: StoredItems) {
    this.#history = history;
    this.#stored = stored;
  }

  end(): AskedItems {
    return { ...this.#history.end(), fingerprint: this.#fingerprint };
  }

  take(item: unknown, place: string): void {
    if (!isFields(item)) throw refused(place, "expected an object");
    switch (item.type ?? "message") {
      case "message":
        return this.#takeMessage(item, place);
      case "reasoning":
        // This server gives none: it is of another one, which alone can read it.
        return;
      case "function_call":
      case "custom_tool_call":
        return this.#takeCall(item, place);
      case "function_call_output":
      case "custom_tool_call_output":
        return this.#history.answer(textOf(item, "call_id") ?? "", readOutput(item, place), place);
      case "program":
        this.#fingerprint = textOf(item, "fingerprint");
        return this.#history.program(requiredText(item, "call_id", place), textOf(item, "code") ?? "", place);
      case "program_output": {
        const isError = item.status !== "completed";
        const answer = { text: untrusted(textOf(item, "result") ?? ""), isError, parts: [] };
        return this.#history.programEnd(textOf(item, "call_id") ?? "", answer, place);
      }
      case "item_reference": {
        const id = textOf(item, "id") ?? "";
        // A short reference stands for a long text: repeated, it would make more of a request than its bytes.
        if (this.#referred.has(id))
          throw refused(
            place,
            `Duplicate item found with id ${id.slice(0, 256)}. Remove duplicate items from your input and try again.`,
          );
        this.#referred.add(id);
        const found = this.#stored.get(id);
        if (!found) throw refused(place, `Item with id '${id.slice(0, 256)}' not found.`);
        return this.take(found, place);
      }
      case "tool_search_call":
      case "tool_search_output":
        return;
      default:
        throw refused(`${place}.type`, `this server does not offer items of the type ${describe(item.type)}`);
    }
  }

  #takeMessage(item: Fields, place: string): void {
    const role = textOf(item, "role");
    const content = partsOf(item, place);
    if (role === "assistant")
      return this.#history.text(content.map((part) => textOf(part, "text") ?? textOf(part, "refusal") ?? "").join(""));
    if (role === "user") {
      const parts = content.map((part, index) => readPart(part, `${place}.content[${index}]`));
      const [only] = parts;
      return this.#history.said(parts.length === 1 && only?.type === "text" ? only.text : parts, place);
    }
    if (role !== "system" && role !== "developer")
      throw refused(`${place}.role`, "expected 'user', 'assistant', 'system' or 'developer'");
    this.#history.system(content.map((part) => textOf(part, "text") ?? "").join("\n"));
  }

  #takeCall(item: Fields, place: string): void {
    const id = requiredText(item, "call_id", place);
    const name = requiredText(item, "name", place);
    const isText = item.type === "custom_tool_call";
    const inputText = isText ? JSON.stringify(textOf(item, "input") ?? "") : (textOf(item, "arguments") ?? "{}");
    const namespace = textOf(item, "namespace");
    switch (callerOf(item.caller)) {
      case "direct":
        return this.#history.call(
          { id, tool: name, inputText, ...(namespace === undefined ? {} : { namespace }) },
          place,
        );
      case "programmatic":
        return this.#history.callOfProgram(id, textOf(item.caller, "caller_id") ?? "", `${place}.caller`);
      case "unknown":
        throw refused(`${place}.caller`, WORDS.noProgram);
    }
  }
}

function requiredText(item: Fields, name: string, place: string): string {
  const text = textOf(item, name);
  if (text === undefined || text === "" || text.length > 256) throw refused(`${place}.${name}`, "expected a string");
  return text;
}

function partsOf(item: Fields, place: string): readonly Fields[] {
  const { content } = item;
  if (typeof content === "string") return [{ type: "input_text", text: content }];
  if (!Array.isArray(content) || content.length === 0 || !content.every(isFields))
    throw refused(`${place}.content`, "expected a string or a list of parts, not empty");
  return content;
}

const DATA_URL = /^data:([a-z]{1,20}\/[a-z\d.+-]{1,100});base64,/;

/** A part of a message: the other end of `CONTENT` in `../../../../models/openai/responses/request.ts`. */
function readPart(part: Fields, place: string): MessagePart {
  const { type } = part;
  if (type === "input_text" || type === "output_text" || type === "text") {
    const text = textOf(part, "text");
    if (text === undefined || text === "") throw refused(`${place}.text`, "expected a string that is not empty");
    return { type: "text", text };
  }
  const url = textOf(part, "image_url") ?? textOf(part, "file_data") ?? textOf(part, "file_url");
  if ((type !== "input_image" && type !== "input_file") || url === undefined)
    throw refused(place, "this server offers input_text, and input_image and input_file with their data or a URL");
  const name = textOf(part, "filename");
  const named = name === undefined ? {} : { name };
  const mediaType = DATA_URL.exec(url.slice(0, 200))?.[1];
  if (mediaType !== undefined) {
    const data = url.slice(url.indexOf(",") + 1);
    return { type: mediaType.startsWith("image/") ? "image" : "file", mediaType, data, ...named };
  }
  return { type: "link", url, mediaType: type === "input_image" ? "image/png" : "application/pdf", ...named };
}

function readOutput(item: Fields, place: string): AskedAnswer {
  const { output } = item;
  if (typeof output === "string") return { text: untrusted(output), isError: false, parts: [] };
  const parts = listOf(item, "output");
  if (!Array.isArray(output) || !parts.every(isFields))
    throw refused(`${place}.output`, "expected a string or a list of parts");
  const read = parts.map((part, index) => readPart(part, `${place}.output[${index}]`));
  const texts = read.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const others = read.filter((part): part is ContentPart => part.type !== "text");
  return { text: untrusted(texts.join("\n")), isError: false, parts: others };
}
