import { isUtf8 } from "node:buffer";
import { PortcullisError } from "../../../errors.ts";
import { TOO_MANY_VALUES } from "../../../values/json/serialise-result.ts";
import { measure } from "../../../values/json/plain-data.ts";
import type { KeptSecrets } from "../../kept-secrets.ts";

/** What an answer that is a stream is read by. */
export interface ReaderParts {
  /** Name of the source, for messages. */
  readonly source: string;
  /** Secrets of the request, which are taken out of the items. */
  readonly secrets: KeptSecrets;
  /** Bytes and values that one item may have. */
  readonly resultBytes: number;
  readonly resultValues: number;
}

/** Makes items of the chunks of an answer, however these are cut. Throws a `PortcullisError` after the items before it. */
export interface ItemReader {
  readonly push: (chunk: Buffer) => Iterable<unknown>;
  /** The items of what follows the last complete one. */
  readonly end: () => Iterable<unknown>;
}

export function tooLarge({ resultBytes }: ReaderParts): PortcullisError {
  return new PortcullisError("result_too_large", `One item has more than ${resultBytes} bytes.`);
}

export function unreadable({ source }: ReaderParts, what: string, cause?: unknown): PortcullisError {
  return new PortcullisError("source_unavailable", `${source} sent ${what}.`, { cause });
}

/** The text of bytes that are to be UTF-8. */
export function textOfBytes(parts: ReaderParts, bytes: Buffer): string {
  if (!isUtf8(bytes)) throw unreadable(parts, "text that is not UTF-8");
  return bytes.toString("utf8");
}

/** Throws if a text holds too many values to be parsed. There are not more of them than characters. */
export function checkValues({ resultValues }: ReaderParts, text: string): void {
  if (text.length > resultValues && measure(text).values > resultValues)
    throw new PortcullisError("result_too_large", `One item holds more than ${resultValues} values.`, {
      cause: TOO_MANY_VALUES,
    });
}
