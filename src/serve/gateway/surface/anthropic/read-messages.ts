import { describe, type Fields, withoutUndefined, listOf, textOf } from "../../../../base/index.ts";
import { callerOf, CODE_EXECUTION_NAME, outputOf } from "../../../../models/anthropic/reply.ts";
import type { ContentPart, MessagePart } from "../../../../models/model.ts";
import { HistoryReader } from "../history-reader.ts";
import { answerOf, blocksOf, field, readFields, textPart } from "../request-fields.ts";
import { type AskedHistory, invalidField } from "../surface.ts";

/** Reads messages into turns of the model. Throws `RefusedAsk` for what the provider would refuse. */
export function readMessages(messages: readonly unknown[]): AskedHistory {
  const history = new HistoryReader();
  for (const [index, message] of messages.entries()) readMessage(history, message, `messages.${index}`);
  if (history.isEmpty) throw invalidField("messages", "at least one message is required");
  return history.end();
}

const MESSAGE = { role: field.oneOf("user assistant system"), content: field.content };

function readMessage(history: HistoryReader, message: unknown, place: string): void {
  const { role, content } = readFields(message, MESSAGE, "role content", place);
  const blocks = blocksOf(content).map((block, index) => [block, `${place}.content.${index}`] as const);
  if (role === "system") {
    const text = blocks.map(([block, at]) => (block.type === "text" ? textOf(block, "text") : notOffered(block, at)));
    return history.system(text.join("\n\n"));
  }
  if (role === "assistant") {
    if (history.isEmpty) throw invalidField("messages", "first message must use the user role");
    for (const [block, at] of blocks) readBlock(history, block, at);
    return undefined;
  }
  const parts: MessagePart[] = [];
  for (const [block, at] of blocks) {
    if (block.type !== "tool_result") parts.push(readContent(block, at));
    else if (parts.length > 0) throw invalidField(at, "`tool_result` blocks must come before other content");
    else history.answer(textOf(block, "tool_use_id") ?? "", readResult(block, at), at);
  }
  history.refuseUnanswered(place);
  if (parts.length > 0 || blocks.length === 0) history.user(parts, place);
  return undefined;
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
    case "server_tool_use": {
      const [id, name] = [textOf(block, "id") ?? "", textOf(block, "name") ?? ""];
      if (name.startsWith("tool_search_tool_")) return;
      const source = textOf(block.input, "code");
      if (name !== CODE_EXECUTION_NAME || source === undefined) notOffered({ type: name }, place);
      return history.program(id, source, place);
    }
    case "code_execution_tool_result": {
      const { output: text = "", isError } = outputOf(block.content);
      return history.programEnd(textOf(block, "tool_use_id") ?? "", answerOf([{ type: "text", text }], isError), place);
    }
    default:
      notOffered(block, place);
  }
}

function notOffered({ type }: Fields, place: string): never {
  throw invalidField(place, `this server does not offer ${describe(type)} here`);
}

const CALL = { id: field.name, name: field.name, input: field.object };

function readCall(history: HistoryReader, block: Fields, place: string): void {
  const { id = "", name: tool = "", input = {} } = readFields(block, CALL, "id name", place);
  const caller = callerOf(block.caller);
  if (caller === "direct") history.call({ id, tool, inputText: JSON.stringify(input) }, place);
  else {
    const program = caller === "programmatic" ? textOf(block.caller, "tool_id") : undefined;
    history.callOfProgram(id, program ?? "", `${place}.caller`);
  }
}

/** A block of a message of the user: the other end of `CONTENT` in `../../../../models/anthropic/request.ts`. */
function readContent(block: Fields, place: string): MessagePart {
  switch (block.type) {
    case "text":
      return textPart(block, place);
    case "image":
      return readSource(block, "image", place);
    case "document":
      return readSource(block, "file", place);
    case "search_result": {
      const texts = [block, ...listOf(block, "content")].flatMap((one) =>
        ["title", "source", "text"].map((name) => textOf(one, name) ?? ""),
      );
      return { type: "text", text: texts.filter((line) => line !== "").join("\n") };
    }
    default:
      return notOffered(block, place);
  }
}

const SOURCE = { "source.type": field.oneOf("base64 text url") };

function readSource(block: Fields, type: "image" | "file", place: string): ContentPart {
  readFields(block, SOURCE, "source.type", place);
  const name = withoutUndefined({ name: textOf(block, "title") });
  const [kind, mediaType, data, url] = ["type", "media_type", "data", "url"].map((one) => textOf(block.source, one));
  // A link without its media type would be told as text.
  if (kind === "url" && url !== undefined)
    return { type: "link", url, mediaType: type === "image" ? "image/png" : "application/pdf", ...name };
  if (kind === "text" && data !== undefined)
    return { type: "file", mediaType: "text/plain", data: Buffer.from(data).toString("base64"), ...name };
  if (kind === "base64" && data !== undefined && mediaType !== undefined) return { type, mediaType, data, ...name };
  throw invalidField(`${place}.source`, "expected its data with its media type, or its url");
}

/** The content of a `tool_result`. */
function readResult(block: Fields, place: string) {
  const { content } = readFields(block, { content: field.content }, "", place);
  const parts = blocksOf(content).map((one, index) => readContent(one, `${place}.content.${index}`));
  return answerOf(parts, block.is_error === true);
}
