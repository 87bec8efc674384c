import { describe, fieldOf, type Fields, isFields, textOf, untrusted } from "../../../../base/index.ts";
import type { ContentPart, MessagePart } from "../../../../models/model.ts";
import { type AskedAnswer, refused } from "../surface.ts";

/** A block of a message of the user: the other end of `CONTENT` in `../../../../models/anthropic/request.ts`. */
export function readContent(block: Fields, place: string): MessagePart {
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
export function readResultContent(block: Fields, place: string): AskedAnswer {
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
