/** Names of fields longer than this are not told apart. */
const KEY_LENGTH = 8;

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\r"],
  ["b", "\b"],
  ["f", "\f"],
]);

/**
 * Reads a program's source out of JSON like `{"code":"…"}` while it is written, piece by piece. What it gives is for
 * display only: JSON that is invalid or never becomes whole gives what looks like the source.
 */
export class SourceReader {
  #depth = 0;
  #isText = false;
  #isValue = false;
  #key = "";
  /** The characters of an escape so far, without its backslash; undefined outside of one. */
  #escape: string | undefined;

  /** The part of the source that this piece has. */
  read(piece: string): string {
    let source = "";
    for (let at = 0; at < piece.length; at += 1) source += this.#take(piece.charAt(at));
    return source;
  }

  #take(char: string): string {
    if (this.#isText) return this.#inText(char);
    if (char === '"') {
      this.#isText = true;
      if (!this.#isValue) this.#key = "";
    } else if (char === "{" || char === "[") this.#depth += 1;
    else if (char === "}" || char === "]") this.#depth -= 1;
    else if (this.#depth === 1 && (char === ":" || char === ",")) this.#isValue = char === ":";
    return "";
  }

  #inText(char: string): string {
    if (this.#escape !== undefined) return this.#inEscape(this.#escape + char);
    if (char === "\\") this.#escape = "";
    else if (char === '"') this.#isText = false;
    else return this.#give(char);
    return "";
  }

  #inEscape(escape: string): string {
    const isOpen = escape.startsWith("u") && escape.length < 5;
    this.#escape = isOpen ? escape : undefined;
    if (isOpen) return "";
    if (!escape.startsWith("u")) return this.#give(ESCAPES.get(escape) ?? escape);
    const unit = Number.parseInt(escape.slice(1), 16);
    return this.#give(Number.isNaN(unit) ? "" : String.fromCharCode(unit));
  }

  #give(char: string): string {
    if (this.#depth !== 1) return "";
    if (this.#isValue) return this.#key === "code" ? char : "";
    if (this.#key.length < KEY_LENGTH) this.#key += char;
    return "";
  }
}
