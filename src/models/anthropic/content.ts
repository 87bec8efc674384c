import type { Fields } from "../../values/fields.ts";
import { type DataPart, fileName, isData, linkText, type MessageContent, takesMedia } from "../turn/content-parts.ts";
import type { MessagePart } from "../model.ts";

/** The blocks of a message of the user. `byUrl` are the media types of links that the provider opens. */
export function userBlocks(message: MessageContent, byUrl: readonly string[]): readonly Fields[] {
  return typeof message === "string"
    ? [{ type: "text", text: message }]
    : message.map((part) => userBlock(part, byUrl));
}

function userBlock(part: MessagePart, byUrl: readonly string[]): Fields {
  if (part.type === "text") return { type: "text", text: part.text };
  if (isData(part)) return dataBlock(part);
  const { url, mediaType = "" } = part;
  if (!takesMedia(byUrl, mediaType)) return { type: "text", text: linkText(part) };
  return { type: mediaType.startsWith("image/") ? "image" : "document", source: { type: "url", url } };
}

/** A block with data, in messages and in results. */
export function dataBlock(part: DataPart): Fields {
  const { type, mediaType, data } = part;
  if (type === "image") return { type: "image", source: { type: "base64", media_type: mediaType, data } };
  const source = mediaType.startsWith("text/")
    ? { type: "text", media_type: "text/plain", data: Buffer.from(data, "base64").toString() }
    : { type: "base64", media_type: mediaType, data };
  return { type: "document", source, title: fileName(part) };
}
