import {
  bareFunction,
  type Fields,
  flag,
  httpUrl,
  loadPackage,
  option,
  optionError,
  type OptionRules,
  type OptionsOf,
  PortcullisError,
  readOptions,
  required,
  type CheckedOptions,
  secret,
  text,
  wholeNumber,
  withDefault,
} from "../../base/index.ts";
import type { MediaTypes } from "../turn/content-parts.ts";
import type { InputForm } from "../turn/declared-input.ts";
import type { ProviderSettings } from "../settings.ts";

export const PROVIDER_RULES = {
  /** The provider's name of the model. */
  model: required(text({ expected: "the model's name" })),
  /** The value of the provider's environment variable by default. */
  apiKey: secret(option<string>("the provider's key", (value) => typeof value === "string")),
  /** URL of a compatible server, with or without a path. */
  // It may have a password in it.
  baseUrl: secret(
    option<string>(
      "an origin like https://example.com",
      (value) => typeof value === "string" && httpUrl(value) !== undefined,
    ),
  ),
  /** Whether turns are streamed; true by default. */
  stream: withDefault(flag(), true),
  /**
   * Whether the provider holds calls to the schemas of their tools, if it can express them; false by default. `"all"` refuses a
   * conversation with a tool whose schema it cannot express; with true, the event `tools_not_strict` names such tools.
   */
  strict: withDefault(
    option<boolean | "all">('true, false or "all"', (value) => typeof value === "boolean" || value === "all"),
    false,
  ),
  /** Maximum of output tokens per turn; 16,000 by default. */
  maxOutputTokens: wholeNumber({ min: 1, max: 10_000_000, default: 16_000 }),
  /**
   * How often the request for a turn is repeated: after a failed connection, a status of 408, 409, 429 or 5xx, or a reply that
   * broke off before a piece of it was shown; 2 by default. A `Retry-After` of up to 25 seconds is respected; after a longer
   * one the request is not repeated.
   */
  retries: wholeNumber({ min: 0, max: 100, default: 2 }),
  /** Time in which a repetition of a request may begin, in milliseconds; two minutes by default. */
  retryMs: wholeNumber({ min: 0, max: 2 ** 31 - 1, default: 120_000 }),
  /** Time for each attempt of a request, in milliseconds; ten minutes by default. A request that timed out is not repeated. */
  timeoutMs: wholeNumber({ min: 1, max: 2 ** 31 - 1, default: 600_000 }),
  /** Sends the requests, through a proxy for instance; the global `fetch` by default. */
  fetch: withDefault(
    bareFunction<typeof globalThis.fetch>("a function like fetch"),
    // Read for each request, because a host may replace the global `fetch` later.
    (input, init) => globalThis.fetch(input, init),
  ),
};

/** Options that all providers share. */
export type ProviderOptions = OptionsOf<typeof PROVIDER_RULES>;

/** Options of one provider alone. */
export type OwnRules = OptionRules;

/** What is known of a provider before a conversation with a model of it begins. */
export interface ProviderTraits {
  /** Prefix of model names: `anthropic` in `anthropic:claude-opus-4-5`. */
  readonly name: string;
  readonly title: string;
  /** The public function that makes its models, as errors name it. */
  readonly maker: string;
  readonly keyVariable: string;
  /** npm package of its SDK: an optional peer dependency, loaded when a conversation begins. */
  readonly sdk: string;
  readonly hostsPrograms: boolean;
  /** Fewest tokens of context above which it makes a history shorter by itself; missing if it does not. */
  readonly compactsFrom?: number;
  readonly takes: ProviderSettings;
  readonly inputs: InputForm;
  readonly media: MediaTypes;
  readonly own: OwnRules;
}

/** Options with defaults in place. */
export type ResolvedOptions = CheckedOptions<typeof PROVIDER_RULES> & {
  readonly apiKey: string;
  readonly own: Fields;
};

/** Checks a provider's options. Throws `option_invalid`, and `model_unavailable` if there is no key. */
export function resolveOptions({ maker, keyVariable, own, takes }: ProviderTraits, options: unknown): ResolvedOptions {
  const read = readOptions(maker, options, { ...PROVIDER_RULES, ...own });
  if (read.maxOutputTokens < takes.minOutputTokens)
    throw optionError(
      `${maker}({ maxOutputTokens })`,
      `${takes.minOutputTokens} or more, the least that the provider accepts`,
      read.maxOutputTokens,
    );
  const { baseUrl, apiKey = process.env[keyVariable] ?? "" } = read;
  const { username = "", password = "" } = URL.parse(baseUrl ?? "") ?? {};
  if (username !== "" || password !== "")
    throw new PortcullisError(
      "option_invalid",
      `${maker}({ baseUrl }): the URL contains a user name or a password, which errors would show. Remove it, and pass the key as apiKey.`,
    );
  if (apiKey === "")
    throw new PortcullisError("model_unavailable", `There is no key for ${maker}: set ${keyVariable}, or pass apiKey.`);
  if (!/^[\x21-\x7e]+$/.test(apiKey.trim()))
    throw new PortcullisError(
      "option_invalid",
      `${maker}({ apiKey }): the key contains a character that is not allowed in keys, like a space or a line break: check ${keyVariable}.`,
    );
  const fields: Fields = read;
  return {
    ...read,
    apiKey: apiKey.trim(),
    own: Object.fromEntries(Object.keys(own).map((name) => [name, fields[name]])),
  };
}

const MAX_NAMED = 10;

/** Throws `option_invalid` if there are tools that the provider does not hold to their schemas. */
export function refuseNotStrict(model: string, tools: readonly string[] = []): void {
  if (tools.length === 0) return;
  const named = tools.slice(0, MAX_NAMED).join(", ");
  const more = tools.length > MAX_NAMED ? ` and ${tools.length - MAX_NAMED} more` : "";
  throw new PortcullisError(
    "option_invalid",
    `strict: "all": ${model} cannot hold calls to the schemas of ${named}${more}. Leave out what its strict tools do not have (docs/models.md), or choose strict: true.`,
  );
}

/** Loads a provider's SDK, an optional peer dependency. Rejects with `model_unavailable` if it is not installed. */
export function loadSdk<Sdk>(name: string, load: () => Promise<Sdk>): Promise<Sdk> {
  return loadPackage("model_unavailable", `The package ${name} is needed for this model: npm install ${name}`, load);
}
