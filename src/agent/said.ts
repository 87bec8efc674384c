import type { UserMessage } from "../models/model.ts";

/** What the host tells a model in the place of a user. */
export const NOTICES = ["wrap_up", "stuck", "cut_off", "answer_invalid"] as const;
export type Notice = (typeof NOTICES)[number];

/** A message to the model. */
export interface SaidMessage {
  readonly by: "user" | "host";
  readonly message: UserMessage;
  /** Why the host says it. */
  readonly why?: Notice;
}

/** Whether the host has told the model this. */
export function isNoticed(said: readonly SaidMessage[], notice: Notice): boolean {
  return said.some(({ by, why }) => by === "host" && why === notice);
}

export function saidByUser(messages: readonly UserMessage[]): readonly SaidMessage[] {
  return messages.map((message) => ({ by: "user", message }));
}
