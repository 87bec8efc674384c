import { optionError, PortcullisError, refuseUnknownOptions } from "../errors.ts";
import type { Provider } from "./provider.ts";

/** Options that all providers share. */
export interface ProviderOptions {
  /** The provider's name of the model. */
  readonly model: string;
  /** The value of the provider's environment variable by default. */
  readonly apiKey?: string;
  /** URL of a compatible server, with or without a path. */
  readonly baseUrl?: string;
  /** Whether turns are streamed; true by default. */
  readonly stream?: boolean;
  /** Maximum of output tokens per turn; 16,000 by default. */
  readonly maxOutputTokens?: number;
  /**
   * How often a request is repeated after a failed connection, or a status of 408, 409, 429 or 5xx; 2 by default. A
   * `Retry-After` of up to a minute is respected; after a longer one the request is not repeated.
   */
  readonly retries?: number;
  /** Time for each attempt of a request, in milliseconds; ten minutes by default. A request that timed out is not repeated. */
  readonly timeoutMs?: number;
  /** Sends the requests, through a proxy for instance; the global `fetch` by default. */
  readonly fetch?: typeof globalThis.fetch;
}

const SHARED_OPTIONS: readonly (keyof ProviderOptions)[] = [
  "model",
  "apiKey",
  "baseUrl",
  "stream",
  "maxOutputTokens",
  "retries",
  "timeoutMs",
  "fetch",
];

const OUTPUT_TOKENS = 16_000;
const RETRIES = 2;
const TIMEOUT_MS = 600_000;

/** Options with defaults in place. */
export interface ResolvedOptions extends Required<Omit<ProviderOptions, "baseUrl">> {
  readonly baseUrl: string | undefined;
  /** The provider's own flags that are set. */
  readonly flags: ReadonlySet<string>;
}

/** Checks a provider's options. Throws `option_invalid`, and `model_unavailable` where there is no key. */
export function resolveOptions(
  { maker, keyVariable, flags }: Pick<Provider, "maker" | "keyVariable" | "flags">,
  options: ProviderOptions,
): ResolvedOptions {
  if (typeof options !== "object" || options === null) throw optionError(`${maker}(options)`, "an object", options);
  refuseUnknownOptions(maker, options, [...SHARED_OPTIONS, ...flags]);
  const {
    model,
    baseUrl,
    stream = true,
    maxOutputTokens = OUTPUT_TOKENS,
    retries = RETRIES,
    timeoutMs = TIMEOUT_MS,
    // Read for each request, because a host may replace the global `fetch` later.
    fetch = (input, init) => globalThis.fetch(input, init),
  } = options;
  const apiKey = options.apiKey ?? process.env[keyVariable] ?? "";
  if (typeof model !== "string" || model === "") throw optionError(`${maker}({ model })`, "the model's name", model);
  if (typeof stream !== "boolean") throw optionError(`${maker}({ stream })`, "true or false", stream);
  if (baseUrl !== undefined && !/^https?:$/.test(protocolOf(baseUrl)))
    throw optionError(`${maker}({ baseUrl })`, "an origin like https://example.com", baseUrl);
  if (baseUrl !== undefined && hasUser(new URL(baseUrl)))
    throw new PortcullisError(
      "option_invalid",
      `${maker}({ baseUrl }): the URL contains a user name or a password, which errors would show. Remove it, and pass the key as apiKey.`,
    );
  checkWhole(`${maker}({ maxOutputTokens })`, maxOutputTokens, 1, 10_000_000);
  checkWhole(`${maker}({ retries })`, retries, 0, 100);
  checkWhole(`${maker}({ timeoutMs })`, timeoutMs, 1, 2 ** 31 - 1);
  if (typeof fetch !== "function") throw optionError(`${maker}({ fetch })`, "a function like fetch", fetch);
  if (typeof apiKey !== "string" || apiKey === "")
    throw new PortcullisError("model_unavailable", `There is no key for ${maker}: set ${keyVariable}, or pass apiKey.`);
  if (!/^[\x21-\x7e]+$/.test(apiKey.trim()))
    throw new PortcullisError(
      "option_invalid",
      `${maker}({ apiKey }): the key contains a character that is not allowed in keys, like a space or a line break: check ${keyVariable}.`,
    );
  const set = new Set(flags.filter((flag) => isSet(maker, flag, options)));
  return { model, apiKey: apiKey.trim(), baseUrl, stream, maxOutputTokens, retries, timeoutMs, fetch, flags: set };
}

function isSet(maker: string, flag: string, options: object): boolean {
  const value: unknown = (options as Readonly<Record<string, unknown>>)[flag] ?? false;
  if (typeof value !== "boolean") throw optionError(`${maker}({ ${flag} })`, "true or false", value);
  return value;
}

/** Loads a provider's SDK, an optional peer dependency. Rejects with `model_unavailable` where it is not installed. */
export async function loadSdk<Sdk>(name: string, load: () => Promise<Sdk>): Promise<Sdk> {
  try {
    return await load();
  } catch (cause) {
    throw new PortcullisError(
      "model_unavailable",
      `The package ${name} is needed for this model: npm install ${name}`,
      { cause },
    );
  }
}

function protocolOf(url: unknown): string {
  return typeof url === "string" && URL.canParse(url) ? new URL(url).protocol : "";
}

function hasUser({ username, password }: URL): boolean {
  return username !== "" || password !== "";
}

function checkWhole(option: string, value: unknown, min: number, max: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max)
    throw optionError(option, `a whole number from ${min} to ${max}`, value);
}
