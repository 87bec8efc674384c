import { AT_ONCE, cutMiddle, JsonText, type Lane, type OutputTail, Pace } from "../../base/index.ts";
import { KeptSecrets, SECRET_NAME } from "../kept-secrets.ts";
import type { McpServer } from "./mcp-options.ts";

const QUOTED_BYTES = 4096;
const READ_LENGTH = 256 * 1024;
/** Shorter values, like `true` or `8080`, are found in any text. */
const SHORTEST_CREDENTIAL = 6;
/** As the secrets of an OpenAPI source. */
const SHORTEST_SECRET = 8;
/** Tokens of requests that are known: those before the latest may still be repeated. */
const TOKENS_KEPT = 8;

/**
 * What a server was given and must not come back: variables, headers, parameters of its address, and secret arguments; of the
 * first three those whose name is one of `names`.
 */
export function credentialsOf({ env = {}, headers = {}, url, args = [] }: GivenToServer, names = /^/) {
  const valuesIn = (entries: Iterable<readonly [string, string]>) =>
    Array.from(entries).flatMap(([name, value]) => (names.test(name) ? [value] : []));
  const behindFlags = args.flatMap((arg, index) => {
    const [flag, ...value] = arg.split("=") as [string, ...string[]];
    if (!flag.startsWith("-") || !SECRET_NAME.test(flag)) return [];
    return value.length > 0 ? [value.join("=")] : [args[index + 1] ?? ""];
  });
  return [
    ...valuesIn(Object.entries(env)),
    ...valuesIn(Object.entries(headers)).flatMap((value) => [value, ...basicPair(value)]),
    ...valuesIn(url === undefined ? [] : new URL(url).searchParams),
    ...behindFlags,
  ];
}

/** Of what a server was given the secrets: the rest, like a region, may stand in any of its results. */
export function secretsOf(server: GivenToServer): readonly string[] {
  // A number without quotation marks could not be taken out of JSON.
  return credentialsOf(server, SECRET_NAME).filter((value) => !/^[-+.\deE]*$/.test(value));
}

function basicPair(header: string): readonly string[] {
  const [, coded] = /^Basic\s+(\S+)$/i.exec(header) ?? [];
  if (coded === undefined) return [];
  const pair = Buffer.from(coded, "base64").toString();
  return [pair, pair.slice(pair.indexOf(":") + 1)];
}

type GivenToServer = Pick<McpServer, "env" | "headers" | "url" | "args">;

const withWords = (values: readonly string[]) => values.flatMap((value) => [value, ...value.split(/\s+/)]);

/** Quotes text of a server: bounded, and without the credentials that the server was given. */
export class ServerText {
  readonly #texts: readonly string[];
  readonly #named: readonly string[];
  #tokens: readonly string[] = [];
  #credentials!: KeptSecrets;
  #secrets!: KeptSecrets;

  constructor(values: readonly string[], secrets: readonly string[] = []) {
    this.#texts = withWords(values);
    this.#named = withWords(secrets);
    this.#know();
  }

  #know(): void {
    this.#credentials = new KeptSecrets([...this.#texts, ...this.#tokens], SHORTEST_CREDENTIAL);
    this.#secrets = new KeptSecrets([...this.#named, ...this.#tokens], SHORTEST_SECRET);
  }

  /** Takes a token out of texts too. The latest are known. */
  hide(token: string): void {
    if (this.#tokens.includes(token)) return;
    this.#tokens = [token, ...this.#tokens].slice(0, TOKENS_KEPT);
    this.#know();
  }

  /** The text without credentials, cut to 4 KB in the middle. */
  quote(text: string, maxBytes = QUOTED_BYTES): string {
    const isCut = text.length > READ_LENGTH;
    return cutMiddle(this.#credentials.takenFrom(text.slice(0, READ_LENGTH), { end: isCut }), maxBytes);
  }

  /** JSON with each of its texts quoted; undefined for more than is read of a text. */
  quoteWithin(value: unknown): unknown {
    const json = JSON.stringify(value);
    if (json === undefined || json.length > READ_LENGTH) return undefined;
    return JSON.parse(json, (_, one: unknown) => (typeof one === "string" ? this.quote(one) : one)) as unknown;
  }

  head(text: string, length: number): string {
    return this.#credentials.takenFrom(text.slice(0, length), { end: text.length > length });
  }

  /** Takes the secrets out of all texts of a result, in place. */
  async clean(result: object, lane: Lane): Promise<void> {
    if (this.#secrets.isEmpty) return;
    const pace = new Pace(lane);
    for (const open = [result as Record<string, unknown>]; open.length > 0;) {
      const part = open.pop() as Record<string, unknown>;
      for (const [name, value] of Object.entries(part)) {
        if (pace.isDue) await pace.rest();
        if (value instanceof JsonText) part[name] = new JsonText(await this.#secrets.takenFromWhole(value.text), value);
        else if (typeof value === "string" && value.length > AT_ONCE)
          part[name] = await this.#secrets.takenFromWhole(value);
        else if (typeof value === "string") part[name] = this.#secrets.takenFrom(value);
        else if (typeof value === "object" && value !== null) open.push(value as Record<string, unknown>);
      }
    }
  }

  /** The end of what a server has written, without credentials. */
  tail({ text, isCut }: OutputTail): string {
    return this.#credentials.takenFrom(isCut ? text.replace(/^\ufffd+/, "") : text, { start: isCut });
  }
}
