import { StringDecoder } from "node:string_decoder";

/** Terminals that know it put these round what is pasted. */
const PASTE_BEGINS = "\u001b[200~";
const PASTE_ENDS = "\u001b[201~";
/** What stands for a line break and a tab of a paste in the one line that is edited. */
const BREAK = "⏎";
const TAB = "⇥";
/** What is typed while nothing is asked, in UTF-16 code units. */
const KEPT = 64 * 1024;

/**
 * What a person types, until it is asked for: a line that is typed while the model works is the next message. Line breaks
 * and tabs of a paste become characters, so that a paste is one message.
 */
export class TypedInput {
  readonly #decoder = new StringDecoder("utf8");
  readonly #onInterrupt: () => void;
  #isPaste = false;
  #endsInReturn = false;
  #half = "";
  #kept = "";

  /** `onInterrupt` is called for each Ctrl-C, which also discards what was typed before. */
  constructor(onInterrupt: () => void) {
    this.#onInterrupt = onInterrupt;
  }

  take(chunk: Buffer): void {
    this.#read(this.#half + this.#decoder.write(chunk));
  }

  discard(): void {
    this.#kept = "";
  }

  /** What was typed up to the end of its first line, or all of it if no line has ended. It is taken out. */
  upToLine(): string {
    const ending = /\r\n?|\n/.exec(this.#kept);
    const end = ending?.index ?? this.#kept.length;
    const taken = this.#kept.slice(0, end + 1);
    this.#kept = this.#kept.slice(end + (ending?.[0].length ?? 0));
    return taken;
  }

  #read(text: string): void {
    this.#half = "";
    let from = 0;
    while (from < text.length) {
      const marker = this.#isPaste ? PASTE_ENDS : PASTE_BEGINS;
      const at = text.indexOf(marker, from);
      const end = at >= 0 ? at : text.length - halfOf(text, marker, this.#isPaste ? 1 : 2);
      this.#keep(text.slice(from, Math.max(from, end)));
      if (at < 0) {
        this.#half = text.slice(Math.max(from, end));
        return;
      }
      this.#isPaste = !this.#isPaste;
      from = at + marker.length;
    }
  }

  #keep(text: string): void {
    if (this.#isPaste) return this.#paste(text);
    const parts = text.split("\u0003");
    for (const [index, part] of parts.entries()) {
      if (index > 0) {
        this.discard();
        this.#onInterrupt();
      }
      this.#add(part);
    }
  }

  /** The two halves of a line break may come in two chunks. */
  #paste(text: string): void {
    const whole = this.#endsInReturn && text.startsWith("\n") ? text.slice(1) : text;
    this.#endsInReturn = text.endsWith("\r");
    this.#add(asOneLine(whole));
  }

  #add(text: string): void {
    this.#kept = (this.#kept + text).slice(0, KEPT);
  }
}

/** How many characters at the end may be the beginning of a marker, if they are at least so many: a lone escape is a key. */
function halfOf(text: string, marker: string, least: number): number {
  for (let length = Math.min(marker.length - 1, text.length); length >= least; length -= 1)
    if (text.endsWith(marker.slice(0, length))) return length;
  return 0;
}

function asOneLine(text: string): string {
  return text
    .replaceAll(/\r\n?|\n/g, BREAK)
    .replaceAll("\t", TAB)
    .replaceAll(/[\u0000-\u001f\u007f]/g, "");
}

/** The text of a line that was edited, with the line breaks and tabs of its pastes. */
export function textOfLine(line: string): string {
  return line.replaceAll(BREAK, "\n").replaceAll(TAB, "\t");
}
