import type { Fields } from "../../../values/fields.ts";
import {
  type DataPart,
  dataUrl,
  fileName,
  isData,
  linkText,
  type MessageContent,
  takesMedia,
} from "../../turn/content-parts.ts";
import type { MessagePart } from "../../model.ts";

export function userItem(message: MessageContent, byUrl: readonly string[]): Fields {
  const content = typeof message === "string" ? message : message.map((part) => userPart(part, byUrl));
  return { role: "user", content };
}

function userPart(part: MessagePart, byUrl: readonly string[]): Fields {
  if (part.type === "text") return { type: "input_text", text: part.text };
  if (isData(part)) return dataPart(part);
  const { url, mediaType = "" } = part;
  if (!takesMedia(byUrl, mediaType)) return { type: "input_text", text: linkText(part) };
  return mediaType.startsWith("image/")
    ? { type: "input_image", image_url: url, detail: "auto" }
    : { type: "input_file", file_url: url };
}

export function dataPart(part: DataPart): Fields {
  return part.type === "image"
    ? { type: "input_image", image_url: dataUrl(part), detail: "auto" }
    : { type: "input_file", filename: fileName(part), file_data: dataUrl(part) };
}
