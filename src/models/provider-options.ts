import { PortcullisError } from "../errors.ts";
import {
  callback,
  flag,
  option,
  type OptionRules,
  type OptionsOf,
  readOptions,
  required,
  type Resolved,
  text,
  wholeNumber,
  withDefault,
} from "../options/options.ts";

const PROVIDER_RULES = {
  /** The provider's name of the model. */
  model: required(text({ expected: "the model's name" })),
  /** Read from the provider's own variable by default. */
  // An error of its own says what is wrong with a key, because no error may show one.
  apiKey: option<string>("the provider's key", () => true),
  /** Origin of a server that speaks the same protocol, with or without a path. */
  baseUrl: option<string>("an origin like https://example.com", (value) => /^https?:$/.test(protocolOf(value))),
  /** Whether turns are streamed; true by default. */
  stream: withDefault(flag(), true),
  /** Most tokens of one turn; 16,000 by default. */
  maxOutputTokens: wholeNumber({ min: 1, max: 10_000_000, default: 16_000 }),
  /**
   * How often a request is repeated that did not get there, or was answered with 408, 409, 429 or 5xx; 2 by default.
   * `Retry-After` is waited for up to a minute; a provider that asks for a longer wait is not asked again.
   */
  retries: wholeNumber({ min: 0, max: 100, default: 2 }),
  /** Time for one request each time it is sent, in milliseconds; ten minutes by default. Not repeated after it. */
  timeoutMs: wholeNumber({ min: 1, max: 2 ** 31 - 1, default: 600_000 }),
  /** How requests leave: through a proxy, for instance; the global one by default. */
  fetch: withDefault(
    callback<typeof globalThis.fetch>("a function like fetch"),
    // Looked up with each request: others may put theirs in its place later.
    (input, init) => globalThis.fetch(input, init),
  ),
};

/** What every provider's adapter takes. */
export type ProviderOptions = OptionsOf<typeof PROVIDER_RULES>;

export type ResolvedOptions = Resolved<typeof PROVIDER_RULES> & { readonly apiKey: string };

/**
 * Checks what an adapter was given; `further` are the rules of options of its own. Throws `option_invalid`, and
 * `model_unavailable` where there is no key.
 */
export function resolveOptions<Further extends OptionRules>(
  maker: string,
  keyVariable: string,
  options: unknown,
  further: Further = {} as Further,
): ResolvedOptions & Resolved<Further> {
  // The compiler does not see that rules of two kinds resolve to options of both.
  const read = readOptions(maker, options, { ...PROVIDER_RULES, ...further }) as Resolved<typeof PROVIDER_RULES> &
    Resolved<Further>;
  const { baseUrl, apiKey = process.env[keyVariable] ?? "" } = read;
  if (baseUrl !== undefined && hasUser(new URL(baseUrl)))
    throw new PortcullisError(
      "option_invalid",
      `${maker}({ baseUrl }): there is a user name or a password in it, which would get into errors. Leave it out, and give the key as apiKey.`,
    );
  if (typeof apiKey !== "string" || apiKey === "")
    throw new PortcullisError("model_unavailable", `There is no key for ${maker}: set ${keyVariable}, or pass apiKey.`);
  if (!/^[\x21-\x7e]+$/.test(apiKey.trim()))
    throw new PortcullisError(
      "option_invalid",
      `${maker}({ apiKey }): there is a character in the key that no key has, like a space or a line break: check ${keyVariable}.`,
    );
  return { ...read, apiKey: apiKey.trim() };
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
