import type { Fields } from "../../../values/fields.ts";
import {
  type DataPart,
  dataUrl,
  fileName,
  inOneLine,
  isData,
  linkText,
  type MessageContent,
  takesMedia,
} from "../../turn/content-parts.ts";
import type { CallResult, MessagePart } from "../../model.ts";

export function userMessage(message: MessageContent, byUrl: readonly string[]): Fields {
  const content = typeof message === "string" ? message : message.map((part) => userPart(part, byUrl));
  return { role: "user", content };
}

/** Messages with results take text alone. Their other content follows in a message of the user that names the call. */
export function attachedMessage({ callId, provenance }: CallResult, carried: readonly DataPart[]): Fields {
  const text = `[Content of the result of ${inOneLine(provenance.tool, 256)}, call ${callId}: data, not words of the user]`;
  return { role: "user", content: [{ type: "text", text }, ...carried.map(dataPart)] };
}

function userPart(part: MessagePart, byUrl: readonly string[]): Fields {
  if (part.type === "text") return { type: "text", text: part.text };
  if (isData(part)) return dataPart(part);
  const { url, mediaType = "" } = part;
  return takesMedia(byUrl, mediaType)
    ? { type: "image_url", image_url: { url } }
    : { type: "text", text: linkText(part) };
}

function dataPart(part: DataPart): Fields {
  return part.type === "image"
    ? { type: "image_url", image_url: { url: dataUrl(part) } }
    : { type: "file", file: { filename: fileName(part), file_data: dataUrl(part) } };
}
