import type { Fields } from "../../values/fields.ts";
import { type DataPart, isData, linkText, type MessageContent } from "../turn/content-parts.ts";
import type { MessagePart } from "../model.ts";

export function userParts(message: MessageContent): readonly Fields[] {
  return typeof message === "string" ? [{ text: message }] : message.map(userPart);
}

function userPart(part: MessagePart): Fields {
  if (part.type === "text") return { text: part.text };
  return isData(part) ? inlineData(part) : { text: linkText(part) };
}

export function inlineData({ mediaType, data }: DataPart): Fields {
  return { inlineData: { mimeType: mediaType, data } };
}
