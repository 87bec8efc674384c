import type { TurnRequest } from "../model.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";

/** Maximum of reasoning and inputs that one turn shows while they are written, in UTF-16 code units. */
const MAX_SHOWN = 256 * 1024;
const MAX_INPUTS = 1000;
const REST = "… (the rest is not shown)";

export interface StreamedNames {
  readonly program: string | undefined;
  readonly own: (alias: string) => string;
}

/** How an input is written: JSON, JSON that holds a program's source, or plain text. */
type InputForm = "json" | "source" | "plain";

interface ShownInput {
  readonly index: number;
  readonly tool: string;
  /** Reads the source of a program out of its JSON. */
  readonly read: ReturnType<typeof sourceReader> | undefined;
  /** Half of a character, whose other half has not come yet. */
  half: string;
}

/** Passes on what a model writes while it writes it. For display only, within bounds: nothing here is acted on. */
export class TurnDisplay {
  readonly names: StreamedNames;
  readonly #request: Pick<TurnRequest, "onText" | "onReasoning" | "onArgument">;
  readonly #inputs = new Map<unknown, ShownInput>();
  #isFull = false;
  #budget = MAX_SHOWN;
  /** Whether a piece of the reply was passed on: then asking for the reply again would show it twice. */
  hasShown = false;

  constructor(request: Pick<TurnRequest, "onText" | "onReasoning" | "onArgument">, names: StreamedNames) {
    this.#request = request;
    this.names = names;
  }

  text(piece: string): void {
    this.hasShown ||= piece !== "";
    this.#request.onText(piece);
  }

  reasoning(piece: string): void {
    const { onReasoning } = this.#request;
    if (onReasoning) this.#show(piece, onReasoning);
  }

  /** Begins the input of a call, or the source of a program. An input that has begun is not begun again. */
  begin(key: unknown, tool: string, form: InputForm): void {
    const { onArgument } = this.#request;
    if (!onArgument || this.#inputs.has(key) || this.#isFull) return;
    this.#isFull = this.#inputs.size >= MAX_INPUTS;
    if (this.#isFull) return this.#show(REST, (text) => onArgument({ index: MAX_INPUTS, tool, text }));
    const read = form === "source" ? sourceReader() : undefined;
    this.#inputs.set(key, { index: this.#inputs.size, tool, read, half: "" });
  }

  /** Begins the input of a call by the name under which its tool was declared: JSON, or a text. */
  beginCall(key: unknown, alias: string, isText = false): void {
    const isProgram = alias === this.names.program;
    const tool = isProgram ? RUN_PROGRAM : this.names.own(alias);
    this.begin(key, tool, isText ? "plain" : isProgram ? "source" : "json");
  }

  argument(key: unknown, piece: string): void {
    const input = this.#inputs.get(key);
    const { onArgument } = this.#request;
    if (!input || !onArgument || this.#budget < 0) return;
    const { index, tool, read } = input;
    const text = input.half + (read ? read(piece) : piece);
    const end = /[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length;
    input.half = text.slice(end);
    this.#show(text.slice(0, end), (shown) => onArgument({ index, tool, text: shown }));
  }

  whole(key: unknown, tool: string, text: string): void {
    this.begin(key, tool, "plain");
    this.argument(key, text);
  }

  program(key: unknown, source: string): void {
    this.whole(key, RUN_PROGRAM, source);
  }

  #show(piece: string, show: (text: string) => void): void {
    if (piece === "" || this.#budget < 0) return;
    this.hasShown = true;
    const shown = piece.slice(0, this.#budget);
    this.#budget -= piece.length;
    show(this.#budget < 0 ? shown + REST : shown);
  }
}

const ESCAPES: ReadonlyMap<string, string> = new Map(Object.entries({ n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" }));
/** What the JSON of a program begins with, and its most characters. */
const BEGIN = /^\s*\{\s*"code"\s*:\s*"/;
const BEGIN_LENGTH = 200;
const ESCAPE_LENGTH = 6;

/** Reads a program's source out of JSON like `{"code":"…"}` while it is written, piece by piece. For display only. */
export function sourceReader() {
  /** What cannot be read yet: a part of the beginning, or of an escape. */
  let rest = "";
  let isBegun = false;
  let isOver = false;
  return (piece: string): string => {
    if (isOver) return "";
    rest += piece;
    const [begin] = isBegun ? [""] : (BEGIN.exec(rest) ?? []);
    if (begin === undefined) isOver = rest.length > BEGIN_LENGTH;
    if (begin === undefined) return "";
    isBegun = true;
    const text = rest.slice(begin.length);
    const parts = [...text.matchAll(/[^"\\]+|\\(?:u[\da-f]{4}|[^u])/giy)].map(([part]) => part);
    rest = text.slice(parts.join("").length);
    isOver = rest.startsWith('"') || rest.length > ESCAPE_LENGTH;
    return parts.map(unescaped).join("");
  };
}

function unescaped(part: string): string {
  if (!part.startsWith("\\")) return part;
  if (part.length === ESCAPE_LENGTH) return String.fromCharCode(Number.parseInt(part.slice(2), 16));
  return ESCAPES.get(part.slice(1)) ?? part.slice(1);
}
