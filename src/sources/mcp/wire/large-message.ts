import { AT_ONCE, readerFor, readMessage, untrusted } from "../../../untrusted/untrusted-text.ts";
import type { JsonText } from "../../../values/json/json-text.ts";
import { isFields } from "../../../values/fields.ts";
import { MalformedMessage, type MessageLimits, MessageTooLarge } from "./wire.ts";

/** What reads a message bounds its levels itself. */
const DEPTH = Number.POSITIVE_INFINITY;
/** The field of a message that may be as large as a result. */
const STRUCTURED = ["result", "structuredContent"];

/** Whether a message is read before it is parsed. */
export const isLargeMessage = (text: string): boolean => text.length > AT_ONCE;

/** A message to be parsed. */
export interface ReadMessage {
  readonly text: string;
  /** Its structured content, which has many values. The text has {} there. */
  readonly structured?: JsonText | undefined;
}

/** Reads a large message of a server. Rejects with a `MessageTooLarge` or a `MalformedMessage`. */
export async function readLargeMessage(text: string, server: string, allowed: MessageLimits): Promise<ReadMessage> {
  const { values, structuredValues } = allowed;
  const limits = { path: STRUCTURED, bounds: { depth: DEPTH, values }, cutValues: structuredValues };
  const read = await readMessage(untrusted(text), limits, readerFor(`source ${server}`));
  if (typeof read === "object") return { text: read.rest, structured: read.part };
  if (read === "values") throw new MessageTooLarge(values + structuredValues, "values");
  throw new MalformedMessage(`A message of the server cannot be read: ${WHY[read]}.`);
}

const WHY = { depth: "it is nested too deeply", syntax: "it is not JSON", time: "it takes too long" } as const;

/** The parsed message with its structured content. */
export function withStructured(message: unknown, structured: JsonText | undefined): unknown {
  if (structured === undefined || !isFields(message) || !isFields(message.result)) return message;
  return { ...message, result: { ...message.result, structuredContent: structured } };
}
