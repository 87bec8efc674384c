import { randomUUID } from "node:crypto";
import {
  AT_ONCE,
  entriesOf,
  fieldOf,
  isFields,
  JsonText,
  readerFor,
  readJsonMessage,
  asUntrusted,
  exactText,
  LONG_NUMBER,
} from "../../../base/index.ts";
import { MalformedMessage, type MessageLimits, MessageTooLarge, dropNulls } from "./wire.ts";

/** Fields of a result that may have many values, and whether they are passed on as JSON. */
const LARGE = [
  ["structuredContent", true],
  ["tools", false],
] as const;
/** UTF-16 units of what was cut out of messages that a reader did not pass on: of more the first is dropped. */
const MOST_UNITS = 128 * 1024 * 1024;

export const isLargeMessage = (text: string): boolean => text.length > AT_ONCE;

/**
 * The first entries of a list of a result, which are not read yet: a `LargeEntry` for one that has too many values, undefined
 * for one that is no JSON.
 */
export type LargeList = (most: number) => Promise<readonly unknown[]>;

type Part = JsonText | LargeList;

/** The large messages of a server: they are parsed without what has many values, and get it back afterwards. */
export class LargeMessages {
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
    const read = await readJsonMessage(asUntrusted(text), form, readerFor(this.#tenant));
    if (typeof read === "object") {
      const part = read.cut?.part;
      const kept: Part | undefined =
        part && !(part instanceof JsonText) ? (most) => entriesOf(part, most, this.#tenant) : part;
      if (kept) this.#keep(number, { part: kept, units: text.length });
      return read.rest;
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
      const number = fieldOf(value, this.#mark);
      if (number === undefined) continue;
      const kept = this.#parts.get(number as number);
      this.#parts.delete(number as number);
      return { ...message, result: kept && { ...message.result, [name]: kept.part } };
    }
    return message;
  }
}

const WHY = { depth: "it is nested too deeply", syntax: "it is not JSON", time: "it takes too long" } as const;

/** What the package's transport refuses in the envelope of a message. */
const NULL_FIELD = /"(?:error|result|params|_meta)"\s{0,9}:\s{0,9}null/;

/**
 * A document, or an event of a stream, whose message the package reads as we do. What is no JSON stays as it is. Rejects as
 * `LargeMessages.read` does.
 */
export async function asPackageReads(
  bytes: Uint8Array,
  isEvent: boolean,
  large: LargeMessages,
  allowed: () => MessageLimits,
): Promise<Uint8Array> {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  const isLarge = isLargeMessage(whole);
  if (!isLarge && !NULL_FIELD.test(whole) && !LONG_NUMBER.test(whole)) return bytes;
  if (isLarge && isEvent && hasManyLines(bytes))
    throw new MalformedMessage("An event of the server has too many lines.");
  const { data, others } = isEvent ? partsOf(whole) : { data: whole };
  const text = withoutNullFields(isLarge ? await large.read(data, allowed()) : exactText(data));
  return Buffer.from(others ? [`data: ${text.replaceAll("\n", "\ndata: ")}`, ...others].join("\n") : text);
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const MOST_LINES = 200_000;

/** Whether an event has more lines than are split: each takes memory of its own, here and in the package. */
function hasManyLines(event: Uint8Array): boolean {
  let lines = 0;
  for (let at = 0; at < event.length && lines <= MOST_LINES; at += 1)
    if (event[at] === LINE_FEED || event[at] === CARRIAGE_RETURN) lines += 1;
  return lines > MOST_LINES;
}

function withoutNullFields(text: string): string {
  if (!NULL_FIELD.test(text)) return text;
  try {
    const message: unknown = JSON.parse(text);
    return JSON.stringify(dropNulls(message, Array.isArray(message) ? 3 : 2));
  } catch {
    return text;
  }
}

/** The data of an event, and its other lines. */
function partsOf(event: string): { readonly data: string; readonly others: readonly string[] } {
  const isData = (line: string) => line.startsWith("data:");
  const lines = event.split(/\r\n|\r|\n/);
  const data = lines.filter(isData).map((line) => line.slice(line.startsWith("data: ") ? 6 : 5));
  return { data: data.join("\n"), others: lines.filter((line) => !isData(line)) };
}
