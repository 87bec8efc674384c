import {
  advised,
  array,
  callback,
  type OptionsOf,
  option,
  required,
  secret,
  text,
  wholeNumber,
  withDefault,
  words,
} from "../option-rules/options.ts";
import { LIMITS_OPTION } from "../programs/limits.ts";
import type { Tool } from "../tools/tool.ts";

/** Shortest secret of an owner, in characters. */
const SHORTEST = 24;
/** The variable with the secret, where none is given. */
export const KEY_VARIABLE = "PORTCULLIS_OWNER_KEY";
/** The variable with the key of an owner's workers, where none is given. */
export const WORKER_KEY_VARIABLE = "PORTCULLIS_WORKER_KEY";
const DAY_MS = 86_400_000;

const KEY = secret(
  advised(
    text({ minLength: SHORTEST, maxLength: 1000, expected: `a secret of at least ${SHORTEST} characters` }),
    () => `Make one with: openssl rand -base64 32`,
  ),
);
const KEY_MS = wholeNumber({ min: 1000, max: 3650 * DAY_MS, default: 30 * DAY_MS });

/** The process that has the handlers of tools. Made by `createOwner`. Dispose of it to end its calls. */
export interface Owner extends AsyncDisposable {
  /** The address by which workers reach it. */
  readonly url: string;
  /** The key that its workers need beside the address. It does not give the owner's secret. */
  readonly workerKey: string;
  /** Calls that run now. */
  readonly running: number;
}

/** For whom an owner makes a call. */
export interface OwnedFor {
  readonly execution: string;
  readonly tenant: string;
}

export const OWNER_RULES = {
  /** The tools, with their handlers. Tools that stream, and agents as tools, need the worker's own process. */
  tools: required(array<Tool>("an array of tools made by defineTool")),
  /** The secret by which keys of executions are made and checked; by default that of the variable PORTCULLIS_OWNER_KEY. */
  key: KEY,
  /** The address to listen on; the loopback by default. */
  host: withDefault(words(), "127.0.0.1"),
  /** 0, as by default, for any that is free. */
  port: wholeNumber({ min: 0, max: 65_535, default: 0 }),
  /** The address by which workers reach it, if it is another one: that of a proxy with TLS. */
  url: secret(words("an address, like https://tools.example")),
  /** Gives the `context` of handlers. */
  context: callback<(one: OwnedFor) => unknown>(),
  /** Changes to the limits of a call: sizes of inputs and results. */
  limits: LIMITS_OPTION,
  /** Calls that run at once; more are sent again later. */
  callsAtOnce: wholeNumber({ min: 1, max: 100_000, default: 1000 }),
  /** Memory for answers that may be asked for again, in bytes. */
  answerBytes: wholeNumber({ min: 0, default: 64 * 1024 * 1024 }),
  /** How long the key of an execution holds, in milliseconds; 30 days by default. Calls after that fail. */
  keyMs: KEY_MS,
  /** Told of handlers that failed, with what they threw; on standard error by default. */
  onError: callback<(error: unknown) => void>(),
};

export type OwnerOptions = OptionsOf<typeof OWNER_RULES>;

/** An owner in another process, for those that submit programs. */
export const OWNER_ADDRESS_RULES = {
  /** Its address. */
  url: required(secret(words("an address, like https://tools.example"))),
  /** Its secret; by default that of the variable PORTCULLIS_OWNER_KEY. */
  key: KEY,
  /** How long the key of the execution holds, in milliseconds; 30 days by default. */
  keyMs: KEY_MS,
};

export type OwnerAddress = OptionsOf<typeof OWNER_ADDRESS_RULES>;

/** An owner of this process, or the address of another one. */
export const OWNER = option<Owner | OwnerAddress>(
  "an owner of createOwner, or { url, key }",
  (given) => typeof given === "object" && given !== null && "url" in given,
);

/** An owner that a worker may call. An owner of `createOwner` is one. */
export interface CallableOwner {
  readonly url: string;
  /** The key of its workers (`owner.workerKey`, `portcullis owner --worker-key`). */
  readonly workerKey: string;
}

export const OWNERS = secret(
  option<readonly (string | CallableOwner)[]>(
    "a list of addresses, like https://tools.example, or of { url, workerKey }",
    (given) => Array.isArray(given) && given.every(isCallable),
  ),
);

function isCallable(given: unknown): boolean {
  if (typeof given === "string") return URL.canParse(given);
  if (typeof given !== "object" || given === null) return false;
  const { url, workerKey } = given as Partial<Record<keyof CallableOwner, unknown>>;
  return typeof url === "string" && URL.canParse(url) && typeof workerKey === "string" && workerKey !== "";
}
