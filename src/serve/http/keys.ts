import { hash, timingSafeEqual } from "node:crypto";
import {
  array,
  checkOptions,
  fieldOf,
  fieldsOf,
  isFields,
  now,
  object,
  option,
  type OptionsOf,
  parsedJson,
  PortcullisError,
  required,
  secret,
  textOf,
  wholeNumber,
} from "../../base/index.ts";
import { idText, TENANT } from "../../executions/execute-options.ts";
import { LIMIT_RULES, type Limits } from "../../executions/limits.ts";
import { type Caller, CALLERS } from "../../tools/tool.ts";
import { OWN_IDS, type Principal, TOKEN_ID } from "../principal.ts";

const MIN_LENGTH = 16;
const MAX_LENGTH = 1024;

export const KEY_RATE_RULES = {
  /** Requests in that time. */
  calls: required(wholeNumber({ min: 1 })),
  /** The time, in milliseconds. */
  perMs: required(wholeNumber({ min: 1 })),
};

export type KeyRate = OptionsOf<typeof KEY_RATE_RULES>;

/**
 * What a key may do: `run` programs, `decide` calls that wait and answer those of clients, `read` executions, `converse`
 * with the server's models, which the operator pays, and as `admin` read what is the server's own (`/metrics`).
 */
export const SCOPES = ["run", "decide", "read", "converse", "admin"] as const;
export type KeyScope = (typeof SCOPES)[number];
/** What a key needs for a route; `none` for a route that needs no key, `any` for a route that any key may ask. */
export type RouteScope = KeyScope | "none" | "any";
/** Without `decide`: who runs programs does not approve their calls, unless the operator says so. */
const DEFAULT_SCOPES: readonly KeyScope[] = ["run", "read"];

export const KEY_RULES = {
  /** Name of the key: in the journal, and for the operator. */
  id: required(idText("a name")),
  /** The key itself. */
  key: secret(option<string>(`a text of ${MIN_LENGTH} to ${MAX_LENGTH} characters without spaces`, isKey)),
  /** SHA-256 of the key in hex, in place of the key. */
  hash: secret(option<string>("a SHA-256 in hex, in small letters", isDigest)),
  /** The tenant of its executions. */
  tenant: required(TENANT),
  /** As which callers it may call tools; all by default. */
  allowedCallers: option<readonly Caller[]>('a list of "direct" and "programmatic"', (value) =>
    isListOf(CALLERS, value),
  ),
  /** The tools that it may use, like `crm.*`; all by default. */
  tools: array<string>("a list of names of tools, like crm.find or crm.*"),
  /** Changes to the limits of its programs. */
  limits: object<Partial<Limits>>(),
  /** Requests that it may make. */
  rate: object<KeyRate>(),
  /** Executions that it may run at once; as many as the server by default. */
  concurrency: wholeNumber({ min: 1 }),
  /** What it may do: any of `run`, `decide`, `read`, `converse` and `admin`; `run` and `read` by default. */
  scopes: option<readonly KeyScope[]>('a list of "run", "decide", "read", "converse" and "admin"', (value) =>
    isListOf(SCOPES, value),
  ),
  /** When it expires, as an ISO time like `2027-01-31T00:00:00Z`; never by default. */
  expires: option<string>("an ISO time, like 2027-01-31T00:00:00Z", isTime),
};

export interface Key extends Principal {
  /** SHA-256 of the key. */
  readonly digest: Buffer;
  readonly rate?: KeyRate;
  readonly scopes: readonly KeyScope[];
  /** ISO time. */
  readonly expires?: string;
  /** Whether the key itself was written down, and not only its SHA-256. */
  readonly isPlain?: boolean;
}

export type Keys = ReturnType<typeof keyRing>;

export function keyRing(all: readonly Key[]) {
  const byId = new Map(all.map((key) => [key.id, key]));
  return {
    all,
    tenants: new Set(all.map(({ tenant }) => tenant)) as ReadonlySet<string>,
    get: (id: string) => byId.get(id),
    /** The key of a request's `Authorization` header. The time that it takes says nothing about the keys. */
    find(authorization: string | null): Key | undefined {
      const token = /^Bearer {1,8}(\S{1,1024}) {0,8}$/i.exec(authorization ?? "")?.[1];
      const digest = digestOf(token ?? "");
      let found: Key | undefined;
      for (const key of all) if (timingSafeEqual(key.digest, digest) && token !== undefined) found = key;
      return found;
    },
  };
}

export function isExpiredKey({ expires }: Key): boolean {
  return expires !== undefined && Date.parse(expires) <= now();
}

/** The only key of a door that was opened without keys. */
export function tokenKeys(token: string, tenant: string): Keys {
  return keyRing([{ id: TOKEN_ID, tenant, digest: digestOf(token), scopes: SCOPES }]);
}

/** Reads `{ "keys": [{ "id", "key" | "hash", "tenant", … }] }`. Throws `option_invalid` with the place of what is wrong. */
export function parseKeys(place: string, written: string): Keys {
  let parsed: unknown;
  try {
    parsed = JSON.parse(written.replace(/^\ufeff/, ""));
  } catch (error) {
    throw invalid(place, `it is not JSON${positionIn(error)}: expected { "keys": [ … ] }`);
  }
  const list = fieldOf(parsed, "keys");
  if (!Array.isArray(list) || list.length === 0)
    throw invalid(place, `expected { "keys": [ … ] } with at least one key`);
  const keys = (list as unknown[]).map((one, index) => readKey(`${place}: keys[${index}]`, one));
  const [ids, digests] = [new Set<string>(), new Set<string>()];
  for (const { id, digest } of keys) {
    const hex = digest.toString("hex");
    if (ids.has(id)) throw invalid(place, `two keys have the id ${JSON.stringify(id)}`);
    if (digests.has(hex))
      throw invalid(place, `the key ${JSON.stringify(id)} is the same as one before it: give each its own`);
    ids.add(id);
    digests.add(hex);
  }
  return keyRing(keys);
}

/**
 * Which former keys are left by keys that may be invalid: those that they do not lack, nor have with another secret. What has no
 * list, or a key without an id, does not say which keys are gone, and leaves all.
 */
export function keysLeftBy(written: string | object): (key: Key) => boolean {
  const list = fieldOf(typeof written === "string" ? parsedJson(written.replace(/^\ufeff/, "")) : written, "keys");
  if (!Array.isArray(list) || (list as unknown[]).some((key) => textOf(key, "id") === undefined)) return () => true;
  const digests = new Map((list as unknown[]).map((key) => [textOf(key, "id"), digestIn(key)]));
  return ({ id, digest }) => digests.has(id) && (digests.get(id) ?? digest.toString("hex")) === digest.toString("hex");
}

/** The digest of a key's secret in hex; undefined if it has none. */
function digestIn(written: unknown): string | undefined {
  const key = textOf(written, "key");
  return textOf(written, "hash") ?? (key === undefined ? undefined : digestOf(key).toString("hex"));
}

/** Where the text is wrong. The rest of the message has a part of the text, which may be of a key. */
function positionIn(error: unknown): string {
  const found = / \((line \d{1,9} column \d{1,9})\)$/.exec((error as Error).message);
  return found ? ` at ${found[1]}` : "";
}

function readKey(place: string, written: unknown): Key {
  if (!isFields(written)) throw invalid(place, "expected an object");
  const {
    key,
    hash: hashed,
    limits,
    rate,
    scopes = DEFAULT_SCOPES,
    ...principal
  } = checkOptions(fieldsOf(place), written, KEY_RULES);
  if (OWN_IDS.has(principal.id)) throw invalid(place, `the id ${principal.id} is reserved: choose another`);
  if ((key === undefined) === (hashed === undefined)) throw invalid(place, "expected either key or hash");
  return {
    ...principal,
    scopes,
    limits: limits && checkOptions(fieldsOf(`${place}.limits`), limits, LIMIT_RULES),
    rate: rate && checkOptions(fieldsOf(`${place}.rate`), rate, KEY_RATE_RULES),
    digest: hashed === undefined ? digestOf(key ?? "") : Buffer.from(hashed, "hex"),
    isPlain: key !== undefined,
  };
}

function isKey(key: unknown): boolean {
  return typeof key === "string" && key.length >= MIN_LENGTH && key.length <= MAX_LENGTH && !/\s/.test(key);
}

function isDigest(value: unknown): boolean {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}

function digestOf(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

export function isListOf(words: readonly string[], value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((one) => words.includes(one as string));
}

/** With its time zone: without one, each server would read another time. */
function isTime(value: unknown): boolean {
  return (
    typeof value === "string" &&
    /^\d{4}-\d\d-\d\dT[\d:.]{5,12}(?:Z|[+-]\d\d:\d\d)$/.test(value) &&
    !Number.isNaN(Date.parse(value))
  );
}

function invalid(place: string, what: string): PortcullisError {
  return new PortcullisError("option_invalid", `${place}: ${what}.`);
}
