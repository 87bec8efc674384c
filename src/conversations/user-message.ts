import { isFields, optionError } from "../base/index.ts";
import type { MessagePart, UserMessage } from "../models/model.ts";

const EXPECTED =
  'text, parts like { type: "text", text } or { type: "image", mediaType, data }, or an array of such messages, not empty';

/** What a user may say at once: one message, or several. */
export type UserMessages = UserMessage | readonly UserMessage[];

/** The messages of what was said. Throws `option_invalid`; `label` names the argument. */
export function messagesOf(said: unknown, label: string): readonly UserMessage[] {
  if (isMessage(said)) return [said];
  if (Array.isArray(said) && said.length > 0 && said.every(isMessage)) return said;
  throw optionError(label, EXPECTED, said);
}

function isMessage(value: unknown): value is UserMessage {
  if (typeof value === "string") return value.trim() !== "";
  return Array.isArray(value) && value.length > 0 && value.every(isPart);
}

function isPart(value: unknown): value is MessagePart {
  if (!isFields(value)) return false;
  const { type, text, mediaType, data, url, name } = value;
  if (name !== undefined && typeof name !== "string") return false;
  switch (type) {
    case "text":
      return typeof text === "string";
    case "image":
    case "file":
      return isWord(mediaType) && isWord(data);
    case "link":
      return isWord(url) && (mediaType === undefined || isWord(mediaType));
    default:
      return false;
  }
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
