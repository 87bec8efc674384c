import { EventCutter } from "../../../values/event-cutter.ts";
import { withPlainEscapes } from "../send.ts";
import { checkValues, type ItemReader, type ReaderParts, textOfBytes, tooLarge, unreadable } from "./item-reader.ts";
import { withoutMark } from "./line-items.ts";

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** Lines of one event, which may be empty: reading them takes more memory than their bytes. */
const MAX_LINES = 100_000;

/** An item of `text/event-stream`. */
export interface EventItem {
  readonly event?: string;
  readonly id?: string;
  /** The value of the data if they are JSON, else their text. */
  readonly data: unknown;
}

/** Reads server-sent events. What has no data is no item: comments, keep-alives, and events of a name alone. */
export class EventItems implements ItemReader {
  readonly #parts: ReaderParts;
  readonly #cutter = new EventCutter();
  #isFirst = true;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  *push(chunk: Buffer): Iterable<EventItem> {
    for (const event of this.#cutter.push(chunk)) yield* this.#read(event);
    if (this.#cutter.heldBytes > this.#parts.resultBytes) throw tooLarge(this.#parts);
  }

  /** A last event whose empty line is missing counts if its own lines are complete. */
  *end(): Iterable<EventItem> {
    const rest = this.#cutter.end();
    const last = rest.at(-1);
    const isCut = last !== undefined && last !== LINE_FEED && last !== CARRIAGE_RETURN;
    for (const item of this.#read(rest)) {
      if (isCut) throw unreadable(this.#parts, "an event that is cut off");
      yield item;
    }
  }

  *#read(bytes: Uint8Array): Iterable<EventItem> {
    if (bytes.length > this.#parts.resultBytes) throw tooLarge(this.#parts);
    const { secrets } = this.#parts;
    const lines: string[] = [];
    let event = "";
    let id: string | undefined;
    for (const line of this.#linesOf(bytes)) {
      const { name, value } = fieldOf(line);
      if (name === "data") lines.push(value);
      else if (name === "event") event = value;
      else if (name === "id" && !value.includes("\0")) id = value;
    }
    if (lines.length === 0) return;
    yield {
      ...(event === "" ? {} : { event: secrets.takenFrom(event) }),
      ...(id === undefined ? {} : { id: secrets.takenFrom(id) }),
      data: this.#valueOf(lines.join("\n")),
    };
  }

  #linesOf(bytes: Uint8Array): readonly string[] {
    const said = textOfBytes(this.#parts, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const text = this.#isFirst ? withoutMark(said) : said;
    this.#isFirst = false;
    const lines = text.split(/\r\n|\r|\n/, MAX_LINES + 1);
    if (lines.length <= MAX_LINES) return lines;
    throw unreadable(this.#parts, `an event of more than ${MAX_LINES} lines`);
  }

  #valueOf(data: string): unknown {
    const { secrets } = this.#parts;
    if (/^\s{0,100}["[{\dtfn-]/.test(data)) {
      const json = secrets.takenFrom(withPlainEscapes(data));
      checkValues(this.#parts, json);
      try {
        return JSON.parse(json) as unknown;
      } catch {
        // It is text that begins as JSON does.
      }
    }
    return secrets.takenFrom(data);
  }
}

function fieldOf(line: string): { readonly name: string; readonly value: string } {
  const colon = line.indexOf(":");
  if (colon < 0) return { name: line, value: "" };
  const start = line[colon + 1] === " " ? colon + 2 : colon + 1;
  return { name: line.slice(0, colon), value: line.slice(start) };
}
