import { fieldOf, type Fields, isFields, textOf, untrusted, describe } from "../../../../base/index.ts";
import type { MessagePart, ContentPart } from "../../../../models/model.ts";
import { HistoryReader, type HistoryWords } from "../history-reader.ts";
import { type AskedHistory, refused, type AskedAnswer } from "../surface.ts";
import { callerOf, CODE_EXECUTION_NAME, outputOf } from "../../../../models/anthropic/reply.ts";

const WORDS: HistoryWords = {
  unanswered: (ids) =>
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ").slice(0, 500)}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message`,
  unexpectedAnswer: (id) =>
    `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message`,
  unexpectedEnd: (id) => `unexpected \`tool_use_id\` found in \`code_execution_tool_result\` blocks: ${id}`,
  noProgram: "its caller names no code_execution of this message or the message before",
  repeatedId: "`tool_use` ids must be unique",
  saidWhileWaiting: "while code_execution waits for results, a message may only have `tool_result` blocks",
  onlyText: "results of calls that code_execution makes may only have text",
};

/** Reads messages into turns of the model. Throws `RefusedAsk` for what the provider would refuse. */
export function readMessages(body: unknown): AskedHistory {
  const messages = fieldOf(body, "messages");
  if (!Array.isArray(messages)) throw refused("messages", "Field required");
  if (messages.length === 0) throw refused("messages", "at least one message is required");
  const history = new HistoryReader(WORDS);
  for (const [index, message] of (messages as readonly unknown[]).entries())
    readMessage(history, message, `messages.${index}`);
  return history.end();
}

function readMessage(history: HistoryReader, message: unknown, place: string): void {
  const role = textOf(message, "role");
  const content = blocksOf(message, place);
  if (role === "assistant") {
    if (history.isEmpty) throw refused("messages", "first message must use the user role");
    for (const [index, block] of content.entries()) readBlock(history, block, `${place}.content.${index}`);
    return;
  }
  if (role === "system") return readSystemMessage(history, content, place);
  if (role !== "user") throw refused(`${place}.role`, "Input should be 'user', 'assistant' or 'system'");
  readUsers(history, content, place);
}

function readSystemMessage(history: HistoryReader, content: readonly Fields[], place: string): void {
  for (const [index, block] of content.entries())
    if (block.type !== "text")
      throw refused(
        `${place}.content.${index}`,
        `this server does not offer ${quoted(block.type)} in messages of the system`,
      );
  history.system(content.map((block) => textOf(block, "text") ?? "").join("\n\n"));
}

function readBlock(history: HistoryReader, block: Fields, place: string): void {
  switch (block.type) {
    case "text":
      return history.text(textOf(block, "text") ?? "");
    case "thinking":
    case "redacted_thinking":
    case "tool_search_tool_result":
      // This server gives none that say more: they are of another one, which alone can read them.
      return;
    case "tool_use":
      return readCall(history, block, place);
    case "server_tool_use":
      return readServerCall(history, block, place);
    case "code_execution_tool_result": {
      const { output = "", isError } = outputOf(block.content);
      const answer = { text: untrusted(output), isError, parts: [] };
      return history.programEnd(textOf(block, "tool_use_id") ?? "", answer, place);
    }
    default:
      throw refused(
        place,
        `this server does not offer blocks of the type ${quoted(block.type)} in messages of the model`,
      );
  }
}

function readCall(history: HistoryReader, block: Fields, place: string): void {
  const { name, input = {} } = block;
  const id = readId(block.id, place);
  if (typeof name !== "string" || name === "") throw refused(`${place}.tool_use.name`, "Field required");
  if (!isFields(input)) throw refused(`${place}.tool_use.input`, "Input should be a valid dictionary");
  switch (callerOf(fieldOf(block, "caller"))) {
    case "direct":
      return history.call({ id, tool: name, inputText: JSON.stringify(input) }, place);
    case "programmatic":
      return history.callOfProgram(id, textOf(block.caller, "tool_id") ?? "", `${place}.tool_use.caller`);
    case "unknown":
      throw refused(`${place}.tool_use.caller`, WORDS.noProgram);
  }
}

function readId(id: unknown, place: string): string {
  if (typeof id === "string" && /^[a-zA-Z0-9_-]{1,256}$/.test(id)) return id;
  throw refused(`${place}.id`, "String should match pattern '^[a-zA-Z0-9_-]+$'");
}

function readServerCall(history: HistoryReader, block: Fields, place: string): void {
  const name = textOf(block, "name") ?? "";
  if (name.startsWith("tool_search_tool_")) return;
  if (name !== CODE_EXECUTION_NAME)
    throw refused(`${place}.server_tool_use.name`, `this server does not offer ${quoted(name)}`);
  const source = textOf(block.input, "code");
  if (source === undefined) throw refused(`${place}.server_tool_use.input.code`, "Field required");
  history.program(readId(block.id, place), source, place);
}

function readUsers(history: HistoryReader, content: readonly Fields[], place: string): void {
  const parts: MessagePart[] = [];
  for (const [index, block] of content.entries()) {
    const at = `${place}.content.${index}`;
    if (block.type !== "tool_result") parts.push(readContent(block, at));
    else if (parts.length > 0) throw refused(at, "`tool_result` blocks must come before other content");
    else history.answer(textOf(block, "tool_use_id") ?? "", readResultContent(block, at), at);
  }
  history.refuseUnanswered(place);
  const [only] = parts;
  if (parts.length > 0) history.said(parts.length === 1 && only?.type === "text" ? only.text : parts, place);
}

function blocksOf(message: unknown, place: string): readonly Fields[] {
  const content = fieldOf(message, "content");
  if (typeof content === "string") {
    if (content.trim() === "") throw refused(place, "text content blocks must be non-empty");
    return [{ type: "text", text: content }];
  }
  if (!Array.isArray(content) || content.length === 0 || !content.every(isFields))
    throw refused(`${place}.content`, "Input should be a valid string or a list of blocks, not empty");
  return content;
}

function quoted(value: unknown): string {
  return typeof value === "string" ? `"${value.slice(0, 100)}"` : "that it has";
}

/** A block of a message of the user: the other end of `CONTENT` in `../../../../models/anthropic/request.ts`. */
function readContent(block: Fields, place: string): MessagePart {
  switch (block.type) {
    case "text": {
      const text = textOf(block, "text");
      if (text === undefined || text === "") throw refused(`${place}.text`, "text content blocks must be non-empty");
      return { type: "text", text };
    }
    case "image":
      return readSource(block, "image", place);
    case "document":
      return readSource(block, "file", place);
    case "search_result":
      return { type: "text", text: searchText(block) };
    default:
      throw refused(
        place,
        `this server does not offer blocks of the type ${describe(block.type)} in messages of the user`,
      );
  }
}

function readSource(block: Fields, type: "image" | "file", place: string): MessagePart {
  const { source } = block;
  const name = textOf(block, "title");
  const named = name === undefined ? {} : { name };
  const mediaType = textOf(source, "media_type");
  const data = textOf(source, "data");
  switch (textOf(source, "type")) {
    case "base64":
      if (mediaType !== undefined && data !== undefined) return { type, mediaType, data, ...named };
      break;
    case "text":
      if (data !== undefined)
        return { type: "file", mediaType: "text/plain", data: Buffer.from(data).toString("base64"), ...named };
      break;
    case "url": {
      const url = textOf(source, "url");
      // A link without its media type would be told as text.
      const kind = type === "image" ? "image/png" : "application/pdf";
      if (url !== undefined) return { type: "link", url, mediaType: kind, ...named };
      break;
    }
    default:
      throw refused(`${place}.source.type`, "this server offers base64, text and url; it keeps no files");
  }
  throw refused(`${place}.source`, "Field required");
}

function searchText(block: Fields): string {
  const texts = (Array.isArray(block.content) ? (block.content as readonly unknown[]) : []).map(
    (one) => textOf(one, "text") ?? "",
  );
  return [textOf(block, "title") ?? "", textOf(block, "source") ?? "", ...texts]
    .filter((line) => line !== "")
    .join("\n");
}

/** The content of a `tool_result`. */
function readResultContent(block: Fields, place: string): AskedAnswer {
  const content = fieldOf(block, "content") ?? "";
  const isError = block.is_error === true;
  if (typeof content === "string") return { text: untrusted(content), isError, parts: [] };
  if (!Array.isArray(content) || !content.every(isFields))
    throw refused(`${place}.content`, "Input should be a valid string or a list of blocks");
  const texts: string[] = [];
  const parts: ContentPart[] = [];
  for (const [index, one] of (content as readonly Fields[]).entries()) {
    if (one.type === "text") {
      texts.push(textOf(one, "text") ?? "");
      continue;
    }
    const part = readContent(one, `${place}.content.${index}`);
    if (part.type === "text") texts.push(part.text);
    else parts.push(part);
  }
  return { text: untrusted(texts.join("\n")), isError, parts };
}
