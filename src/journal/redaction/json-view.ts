import { JsonScanner, nextTurn, parsedJson, QUOTE } from "../../base/index.ts";
import type { RedactField } from "./redact-option.ts";

/** A name, a string or a number of a JSON text. */
export interface Segment {
  /** Where it stands in the JSON text, with its quotation marks. */
  readonly from: number;
  readonly upTo: number;
  /** Where it stands in the view. */
  readonly start: number;
  readonly end: number;
  readonly isName: boolean;
}

export interface JsonView {
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly fields: readonly RedactField[];
}

const PATH_LENGTH = 200;
/** Characters that are read before other work gets the thread. */
const SLICE_LENGTH = 32 * 1024;
/** Names, strings and numbers of a view. As segments they take some hundred times the memory that short ones take as text. */
const VIEW_SEGMENTS = 50_000;
const NUMBER = /-?[0-9][0-9.eE+-]*/y;
const COLON = /[ \t\r\n]*:/y;
const OPENING: ReadonlySet<string> = new Set(["{", "["]);
const CLOSING: ReadonlySet<string> = new Set(["}", "]"]);

/**
 * The views of a JSON text, each of at most 50,000 names and values. Views of a text that is not JSON have the strings and
 * numbers that can be found.
 */
export async function* viewsOf(json: string): AsyncGenerator<JsonView> {
  const reader = new ViewReader(json);
  for (;;) {
    const isOver = reader.readUntil(reader.at + SLICE_LENGTH);
    if (isOver || reader.isFull) yield reader.take();
    if (isOver) return;
    await nextTurn();
  }
}

class ViewReader {
  readonly #json: string;
  readonly #scanner: JsonScanner;
  #parts: string[] = [];
  #segments: Segment[] = [];
  #fields: RedactField[] = [];
  /** The paths of the records and lists around the place that is read. */
  readonly #paths: string[] = [];
  #path = "";
  #length = 0;
  at = 0;

  constructor(json: string) {
    this.#json = json;
    this.#scanner = new JsonScanner(json);
  }

  take(): JsonView {
    const view = { text: this.#parts.join(""), segments: this.#segments, fields: this.#fields };
    [this.#parts, this.#segments, this.#fields, this.#length] = [[], [], [], 0];
    return view;
  }

  /** Whether the view has all that it may have. A name and its value are in the same view. */
  get isFull(): boolean {
    return this.#segments.length >= VIEW_SEGMENTS && this.#segments.at(-1)?.isName === false;
  }

  /** Reads up to `until`. Returns whether the whole text is read. */
  readUntil(until: number): boolean {
    const json = this.#json;
    while (this.at < json.length && this.at < until && !this.isFull) {
      const char = json.charAt(this.at);
      if (char === '"') this.#readString();
      else if (OPENING.has(char)) this.#open();
      else if (CLOSING.has(char)) this.#path = this.#paths.pop() ?? "";
      else if (char === "-" || (char >= "0" && char <= "9")) this.#readNumber();
      else if (char === "," && this.#paths.length > 0) this.#path = this.#paths.at(-1) ?? "";
      this.at += 1;
    }
    return this.at >= json.length;
  }

  #open(): void {
    if (this.#path !== (this.#paths.at(-1) ?? "")) this.#write("\n");
    this.#paths.push(this.#path);
  }

  #readString(): void {
    const from = this.at;
    this.#scanner.at = from;
    // A string without an end reaches to the end of the text.
    const end = this.#scanner.next() === QUOTE ? this.#scanner.end - 1 : this.#json.length;
    const raw = this.#json.slice(from + 1, end);
    const text = raw.includes("\\") ? unescaped(raw) : raw;
    this.at = end;
    COLON.lastIndex = end + 1;
    if (COLON.test(this.#json)) {
      const outer = this.#paths.at(-1) ?? "";
      this.#path = (outer === "" ? text : `${outer}.${text}`).slice(-PATH_LENGTH);
      this.#add(from, end + 1, text, true);
      this.#write(": ");
    } else this.#addValue(from, end + 1, text);
  }

  #readNumber(): void {
    NUMBER.lastIndex = this.at;
    const [text = "-"] = NUMBER.exec(this.#json) ?? [];
    this.#addValue(this.at, this.at + text.length, text);
    this.at += text.length - 1;
  }

  #addValue(from: number, upTo: number, text: string): void {
    const start = this.#length;
    this.#add(from, upTo, text, false);
    this.#fields.push({ path: this.#path, start, end: this.#length });
    this.#write("\n");
  }

  #add(from: number, upTo: number, text: string, isName: boolean): void {
    const start = this.#length;
    this.#write(text);
    this.#segments.push({ from, upTo, start, end: this.#length, isName });
  }

  #write(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
  }
}

/** The text that a string of JSON stands for; the string as it is written if it is not valid JSON. */
function unescaped(raw: string): string {
  return (parsedJson(`"${raw}"`) as string | undefined) ?? raw;
}
