import type { UserMessage } from "../../models/model.ts";

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
export function isNoticed(said: readonly SaidMessage[], notice: Notice): boolean {
  const since = said.findLastIndex(({ by }) => by === "user") + 1;
  return said.slice(since).some(({ why }) => why === notice);
}

/** The text of a message, with a line for each image, file or link in it. */
export function messageText(message: UserMessage): string {
  if (typeof message === "string") return message;
  return message.map((part) => (part.type === "text" ? part.text : `(${part.type} ${part.name ?? ""})`)).join("\n");
}

export function saidByUser(messages: readonly UserMessage[]): readonly SaidMessage[] {
  return messages.map((message) => ({ by: "user", message }));
}

export function isSame(one: readonly SaidMessage[], other: readonly SaidMessage[]): boolean {
  return one.length === other.length && one.every((message, place) => message === other[place]);
}
