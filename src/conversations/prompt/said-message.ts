import type { UserMessage, MessagePart } from "../../models/model.ts";
import { isFields, optionError } from "../../base/index.ts";

/** What the host tells a model in the place of a user. */
export const NOTICES = ["wrap_up", "stuck", "cut_off", "turn_invalid", "answer_invalid"] as const;
export type Notice = (typeof NOTICES)[number];

export interface SaidMessage {
  readonly by: "user" | "host";
  readonly message: UserMessage;
  /** Why the host says it. */
  readonly why?: Notice;
}

/** Whether the host has told the model this since the user said something. */
export function isNoticed(messages: readonly SaidMessage[], notice: Notice): boolean {
  const since = messages.findLastIndex(({ by }) => by === "user") + 1;
  return messages.slice(since).some(({ why }) => why === notice);
}

/** The text of a message, with a line for each image, file or link in it. */
export function messageText(message: UserMessage): string {
  if (typeof message === "string") return message;
  return message.map((part) => (part.type === "text" ? part.text : `(${part.type} ${part.name ?? ""})`)).join("\n");
}

export function messagesByUser(messages: readonly UserMessage[]): readonly SaidMessage[] {
  return messages.map((message) => ({ by: "user", message }));
}

export function isSame(one: readonly SaidMessage[], other: readonly SaidMessage[]): boolean {
  return one.length === other.length && one.every((message, place) => message === other[place]);
}

const EXPECTED =
  'text, parts like { type: "text", text } or { type: "image", mediaType, data }, or an array of such messages, not empty';

/** What a user may say at once: one message, or several. */
export type UserMessages = UserMessage | readonly UserMessage[];

/** The messages of what was said. Throws `option_invalid`; `label` names the argument. */
export function messagesOf(value: unknown, label: string): readonly UserMessage[] {
  if (isMessage(value)) return [value];
  if (Array.isArray(value) && value.length > 0 && value.every(isMessage)) return value;
  throw optionError(label, EXPECTED, value);
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
