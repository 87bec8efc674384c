import { cutMiddle } from "../../values/cut-middle.ts";

/** Bytes of a server's text that are quoted. */
const QUOTED_BYTES = 4096;
/** Characters of a server's text that are read. */
const READ_LENGTH = 256 * 1024;
/** Shorter values, like `true` or `8080`, are found in any text. */
const SHORTEST_CREDENTIAL = 6;

/** Arguments whose value behind them, or behind their `=`, is a credential. */
const SECRET_FLAG = /^--?[\w-]*(?:token|key|secret|password|auth)[\w-]*$/i;

/** What a server was given that must not come back: variables, headers, and what of its address or arguments names a secret. */
export function credentialsOf({ env = {}, headers = {}, url, args = [] }: GivenToServer): readonly string[] {
  const address = url === undefined ? undefined : new URL(url);
  const behindFlags = args.flatMap((arg, index) => {
    const [flag = "", ...value] = arg.split("=");
    if (!SECRET_FLAG.test(flag)) return [];
    return value.length > 0 ? [value.join("=")] : [args[index + 1] ?? ""];
  });
  return [
    ...Object.values(env),
    ...Object.values(headers),
    ...(address ? [address.username, address.password, ...address.searchParams.values()] : []),
    ...behindFlags,
  ];
}

interface GivenToServer {
  readonly env?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly url?: string | undefined;
  readonly args?: readonly string[];
}

/** Quotes text of a server: bounded, and without the credentials that the server was given. */
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
