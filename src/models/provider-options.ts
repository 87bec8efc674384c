import { optionError, PortcullisError, refuseUnknownOptions } from "../errors.ts";

/** What every provider's adapter takes. */
export interface ProviderOptions {
  /** The provider's name of the model. */
  readonly model: string;
  /** Read from the provider's own variable by default. */
  readonly apiKey?: string;
  /** Origin of a server that speaks the same protocol, with or without a path. */
  readonly baseUrl?: string;
  /** Whether turns are streamed; true by default. */
  readonly stream?: boolean;
  /** Most tokens of one turn; 16,000 by default. */
  readonly maxOutputTokens?: number;
  /**
   * How often a request is repeated that did not get there, or was answered with 408, 409, 429 or 5xx; 2 by default.
   * `Retry-After` is waited for up to a minute; who asks for longer is not asked again.
   */
  readonly retries?: number;
  /** Time for one request each time it is sent, in milliseconds; ten minutes by default. Not repeated after it. */
  readonly timeoutMs?: number;
  /** How requests leave: through a proxy, for instance; the global one by default. */
  readonly fetch?: typeof globalThis.fetch;
}

export const PROVIDER_OPTIONS = [
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

export interface ResolvedOptions extends Required<Omit<ProviderOptions, "baseUrl">> {
  readonly baseUrl: string | undefined;
}

/** Checks what an adapter was given. Throws `option_invalid`, and `model_unavailable` where there is no key. */
export function resolveOptions(
  maker: string,
  keyVariable: string,
  options: ProviderOptions,
  further: readonly string[] = [],
): ResolvedOptions {
  if (typeof options !== "object" || options === null) throw optionError(`${maker}(options)`, "an object", options);
  const known = [...PROVIDER_OPTIONS, ...further];
  refuseUnknownOptions(maker, options, known);
  const {
    model,
    baseUrl,
    stream = true,
    maxOutputTokens = OUTPUT_TOKENS,
    retries = RETRIES,
    timeoutMs = TIMEOUT_MS,
    // Looked up with each request: others may put theirs in its place later.
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
      `${maker}({ baseUrl }): there is a user name or a password in it, which would get into errors. Leave it out, and give the key as apiKey.`,
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
      `${maker}({ apiKey }): there is a character in the key that no key has, like a space or a line break: check ${keyVariable}.`,
    );
  return { model, apiKey: apiKey.trim(), baseUrl, stream, maxOutputTokens, retries, timeoutMs, fetch };
}

/** Loads a provider's SDK, which is installed only by those who use it. */
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

function checkWhole(option: string, value: unknown, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most)
    throw optionError(option, `a whole number from ${least} to ${most}`, value);
}
