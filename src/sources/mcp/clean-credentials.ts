import { cutMiddle, type OutputTail } from "../../base/index.ts";
import { KeptSecrets, SECRET_NAME } from "../kept-secrets.ts";

/** Bytes of a server's text that are quoted. */
const QUOTED_BYTES = 4096;
/** Characters of a server's text that are read. */
const READ_LENGTH = 256 * 1024;
/** Shorter values, like `true` or `8080`, are found in any text. */
const SHORTEST_CREDENTIAL = 6;
/** Tokens of requests that are known: those before the latest may still be repeated. */
const TOKENS_KEPT = 8;

/** What a server was given and must not come back: variables, headers, parameters of its address, and secret arguments. */
export function credentialsOf({ env = {}, headers = {}, url, args = [] }: GivenToServer): readonly string[] {
  const address = url === undefined ? undefined : new URL(url);
  const behindFlags = args.flatMap((arg, index) => {
    const [flag = "", ...value] = arg.split("=");
    if (!flag.startsWith("-") || !SECRET_NAME.test(flag)) return [];
    return value.length > 0 ? [value.join("=")] : [args[index + 1] ?? ""];
  });
  return [
    ...Object.values(env),
    ...Object.values(headers).flatMap((value) => [value, ...basicPair(value)]),
    ...(address?.searchParams.values() ?? []),
    ...behindFlags,
  ];
}

/** User and password of basic authentication, as a server reads them. */
function basicPair(header: string): readonly string[] {
  const [, coded] = /^Basic\s+(\S+)$/i.exec(header) ?? [];
  if (coded === undefined) return [];
  const pair = Buffer.from(coded, "base64").toString();
  return [pair, pair.slice(pair.indexOf(":") + 1)];
}

interface GivenToServer {
  readonly env?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly url?: string | undefined;
  readonly args?: readonly string[];
}

/** Quotes text of a server: bounded, and without the credentials that the server was given. */
export class ServerText {
  readonly #given: readonly string[];
  #tokens: readonly string[] = [];
  #secrets: KeptSecrets;

  constructor(values: readonly string[]) {
    this.#given = values.flatMap((value) => [value, ...value.split(/\s+/)]);
    this.#secrets = new KeptSecrets(this.#given, SHORTEST_CREDENTIAL);
  }

  /** Takes a token out of texts too. The latest are known. */
  hide(token: string): void {
    if (this.#tokens.includes(token)) return;
    this.#tokens = [token, ...this.#tokens].slice(0, TOKENS_KEPT);
    this.#secrets = new KeptSecrets([...this.#given, ...this.#tokens], SHORTEST_CREDENTIAL);
  }

  /** The text without credentials, cut to 4 KB in the middle. */
  quote(text: string, maxBytes = QUOTED_BYTES): string {
    const isCut = text.length > READ_LENGTH;
    return cutMiddle(this.#secrets.takenFrom(text.slice(0, READ_LENGTH), { end: isCut }), maxBytes);
  }

  /** JSON with each of its texts quoted; undefined for more than is read of a text. */
  quoteWithin(value: unknown): unknown {
    const json = JSON.stringify(value);
    if (json === undefined || json.length > READ_LENGTH) return undefined;
    return JSON.parse(json, (_, one: unknown) => (typeof one === "string" ? this.quote(one) : one)) as unknown;
  }

  /** The beginning of a text without credentials. */
  head(text: string, length: number): string {
    return this.#secrets.takenFrom(text.slice(0, length), { end: text.length > length });
  }

  /** The end of what a server has written, without credentials. */
  tail({ text, isCut }: OutputTail): string {
    return this.#secrets.takenFrom(isCut ? text.replace(/^\ufffd+/, "") : text, { start: isCut });
  }
}
