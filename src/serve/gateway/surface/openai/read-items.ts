import { describe, type Fields, withoutUndefined, isFields, textOf } from "../../../../base/index.ts";
import type { MessagePart } from "../../../../models/model.ts";
import { callerOf } from "../../../../models/openai/responses/reply.ts";
import { HistoryReader, ID_LENGTH } from "../history-reader.ts";
import { answerOf, blocksOf, field, readFields, textPart } from "../request-fields.ts";
import { type AskedHistory, invalidField, type StoredItems } from "../surface.ts";

export interface AskedItems extends AskedHistory {
  /** What names the state of the last program. */
  readonly fingerprint: string | undefined;
}

const MESSAGE = {
  role: field.oneOf("user assistant system developer"),
  content: field.content,
};
const CALL = { call_id: field.name, name: field.name };

/** Reads the input of a request. `stored` are the items of this server that it refers to. */
export function readItems(input: unknown, stored: StoredItems, goesOn: boolean): AskedItems {
  const items: unknown = typeof input === "string" ? [{ role: "user", content: input }] : input;
  if (!Array.isArray(items)) throw invalidField("input", "expected a string or an array of items");
  if (items.length === 0 && !goesOn) throw invalidField("input", "expected at least one item");
  const history = new HistoryReader(goesOn);
  const referred = new Set<string>();
  let fingerprint: string | undefined;
  const take = (item: unknown, place: string): void => {
    if (!isFields(item)) throw invalidField(place, "expected an object");
    const text = (name: string) => textOf(item, name) ?? "";
    switch (item.type ?? "message") {
      case "message":
        return takeMessage(history, item, place);
      case "function_call":
      case "custom_tool_call":
        return takeCall(history, item, place);
      case "function_call_output":
      case "custom_tool_call_output": {
        const { output } = readFields(item, { output: field.content }, "output", place);
        const parts = blocksOf(output).map((part, index) => readPart(part, `${place}.output[${index}]`));
        return history.answer(text("call_id"), answerOf(parts), place);
      }
      case "program":
        fingerprint = textOf(item, "fingerprint");
        return history.program(text("call_id"), text("code"), place);
      case "program_output": {
        const answer = answerOf([{ type: "text", text: text("result") }], item.status !== "completed");
        return history.programEnd(text("call_id"), answer, place);
      }
      case "item_reference": {
        const id = text("id");
        const shown = id.slice(0, ID_LENGTH);
        // A short reference stands for a long text: repeated, it would make more of a request than its bytes.
        if (referred.has(id)) throw invalidField(place, `Duplicate item found with id ${shown}.`);
        referred.add(id);
        const found = stored.get(id);
        if (!found) throw invalidField(place, `Item with id '${shown}' not found.`);
        return take(found, place);
      }
      case "reasoning":
      case "tool_search_call":
      case "tool_search_output":
        // This server gives none that say more: they are of another one, which alone can read them.
        return undefined;
      default:
        throw invalidField(`${place}.type`, `this server does not offer items of the type ${describe(item.type)}`);
    }
  };
  for (const [index, item] of (items as readonly unknown[]).entries()) take(item, `input[${index}]`);
  return { ...history.end(), fingerprint };
}

function takeMessage(history: HistoryReader, item: Fields, place: string): void {
  const { role, content } = readFields(item, MESSAGE, "role content", place);
  const blocks = blocksOf(content);
  if (role === "user") {
    const parts = blocks.map((part, index) => readPart(part, `${place}.content[${index}]`));
    return history.user(parts, place);
  }
  const texts = blocks.map((part) => textOf(part, "text") ?? textOf(part, "refusal") ?? "");
  return role === "assistant" ? history.text(texts.join("")) : history.system(texts.join("\n"));
}

function takeCall(history: HistoryReader, item: Fields, place: string): void {
  const { call_id: id = "", name: tool = "" } = readFields(item, CALL, "call_id name", place);
  const caller = callerOf(item.caller);
  if (caller !== "direct") {
    const program = caller === "programmatic" ? textOf(item.caller, "caller_id") : undefined;
    return history.callOfProgram(id, program ?? "", `${place}.caller`);
  }
  const isText = item.type === "custom_tool_call";
  const inputText = isText ? JSON.stringify(textOf(item, "input") ?? "") : (textOf(item, "arguments") ?? "{}");
  return history.call({ id, tool, inputText, namespace: textOf(item, "namespace") }, place);
}

const DATA_URL = /^data:([a-z]{1,20}\/[a-z\d.+-]{1,100});base64,/;

/** A part of a message: the other end of `CONTENT` in `../../../../models/openai/responses/request.ts`. */
function readPart(part: Fields, place: string): MessagePart {
  const { type } = part;
  if (type === "input_text" || type === "output_text" || type === "text") return textPart(part, place);
  const url = textOf(part, "image_url") ?? textOf(part, "file_data") ?? textOf(part, "file_url");
  if ((type !== "input_image" && type !== "input_file") || url === undefined)
    throw invalidField(place, "this server offers input_text, and input_image and input_file with their data or a URL");
  const name = withoutUndefined({ name: textOf(part, "filename") });
  const mediaType = DATA_URL.exec(url.slice(0, 200))?.[1];
  if (mediaType === undefined)
    return { type: "link", url, mediaType: type === "input_image" ? "image/png" : "application/pdf", ...name };
  const data = url.slice(url.indexOf(",") + 1);
  return { type: mediaType.startsWith("image/") ? "image" : "file", mediaType, data, ...name };
}
