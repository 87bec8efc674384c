import { cutMiddle } from "../../values/cut-middle.ts";

/** Bytes of a server's text that are quoted. */
const QUOTED_BYTES = 4096;
/** Characters of a server's text that are read. */
const READ_LENGTH = 256 * 1024;
/** Shorter values, like `true` or `8080`, are found in any text. */
const SHORTEST_CREDENTIAL = 6;

/** Quotes text of a server: bounded, and without the values of the headers and variables that the server was given. */
export class ServerText {
  readonly #credentials: readonly string[];

  constructor(values: readonly string[]) {
    const parts = values.flatMap((value) => [value, ...value.split(/\s+/)]);
    const forms = parts.flatMap((part) =>
      part.length < SHORTEST_CREDENTIAL
        ? []
        : [part, encodeURIComponent(part.toWellFormed()), JSON.stringify(part).slice(1, -1)],
    );
    // The longest first, so that none is left as the rest of another.
    this.#credentials = [...new Set(forms)].toSorted((one, other) => other.length - one.length);
  }

  /** The text without credentials, cut to 4 KB in the middle. */
  quote(text: string, maxBytes = QUOTED_BYTES): string {
    // A credential at the edge of what is read would be found in half only.
    const edge = text.length > READ_LENGTH ? (this.#credentials[0]?.length ?? 0) : 0;
    const read = text.slice(0, READ_LENGTH);
    return cutMiddle(this.clean(read).slice(0, edge === 0 ? undefined : -edge), maxBytes);
  }

  clean(text: string): string {
    return this.#credentials.reduce((cleaned, value) => cleaned.replaceAll(value, "[credential]"), text);
  }
}
