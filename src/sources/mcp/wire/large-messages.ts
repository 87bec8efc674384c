import { randomUUID } from "node:crypto";
import {
  AT_ONCE,
  entriesOf,
  isFields,
  JsonText,
  readerFor,
  readMessage,
  untrusted,
  type UntrustedText,
} from "../../../base/index.ts";
import { MalformedMessage, type MessageLimits, MessageTooLarge } from "./wire.ts";

/** Fields of a result that may have many values, and whether they are passed on as JSON. */
const LARGE = [
  ["structuredContent", true],
  ["tools", false],
] as const;
/** UTF-16 units of what was cut out of messages that a reader did not pass on: of more the first is dropped. */
const MOST_UNITS = 128 * 1024 * 1024;

/** Whether a message is read before it is parsed. */
export const isLargeMessage = (text: string): boolean => text.length > AT_ONCE;

/** A list of a result whose entries are not read yet. */
export class LargeList {
  readonly #text: UntrustedText;
  readonly #tenant: string;

  constructor(text: UntrustedText, tenant: string) {
    this.#text = text;
    this.#tenant = tenant;
  }

  /** Its first entries: a `LargeEntry` for one that has too many values, undefined for one that is no JSON. */
  entries(most: number): Promise<readonly unknown[]> {
    return entriesOf(this.#text, most, this.#tenant);
  }
}

type Part = JsonText | LargeList;

/** The large messages of a server: they are parsed without what has many values, and get it back afterwards. */
export class LargeMessages {
  /** Whose texts these are to the thread and the scheduler. */
  readonly #tenant: string;
  /** Name of a field that stands for what was cut out. No server knows it. */
  readonly #mark = randomUUID();
  readonly #parts = new Map<number, { readonly part: Part; readonly units: number }>();
  #numbers = 0;

  constructor(server: string) {
    this.#tenant = `source ${server}`;
  }

  /** The text of a message that may be parsed. Rejects with a `MessageTooLarge` or a `MalformedMessage`. */
  async read(text: string, { values, largeValues }: MessageLimits): Promise<string> {
    const number = (this.#numbers += 1);
    const form = {
      // What reads a message bounds its levels itself.
      bounds: { depth: Number.POSITIVE_INFINITY, values },
      fields: LARGE.map(([name, isPlain]) => ({ path: ["result", name], values: largeValues, isPlain })),
      inPlace: JSON.stringify({ [this.#mark]: number }),
    };
    const read = await readMessage(untrusted(text), form, readerFor(this.#tenant));
    if (typeof read === "object") {
      const { rest, cut } = read;
      const part = cut?.part instanceof JsonText ? cut.part : cut && new LargeList(cut.part, this.#tenant);
      if (part) this.#keep(number, { part, units: text.length });
      return rest;
    }
    if (read === "values") throw new MessageTooLarge(values, "values");
    throw new MalformedMessage(`A message of the server cannot be read: ${WHY[read]}.`);
  }

  #keep(number: number, kept: { readonly part: Part; readonly units: number }): void {
    this.#parts.set(number, kept);
    let units = [...this.#parts.values()].reduce((sum, one) => sum + one.units, 0);
    for (const [first, one] of this.#parts) {
      if (units <= MOST_UNITS || first === number) return;
      this.#parts.delete(first);
      units -= one.units;
    }
  }

  /** A parsed message with what was cut out of it. One that was dropped leaves no result. */
  whole(message: unknown): unknown {
    if (!isFields(message) || !isFields(message.result)) return message;
    for (const [name] of LARGE) {
      const value = message.result[name];
      const number = isFields(value) && Object.hasOwn(value, this.#mark) ? value[this.#mark] : undefined;
      if (number === undefined) continue;
      const kept = this.#parts.get(number as number);
      this.#parts.delete(number as number);
      return { ...message, result: kept && { ...message.result, [name]: kept.part } };
    }
    return message;
  }
}

const WHY = { depth: "it is nested too deeply", syntax: "it is not JSON", time: "it takes too long" } as const;
