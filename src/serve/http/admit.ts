import { allowedHosts, hostNameOf, isOwnOrigin } from "./allowed-hosts.ts";
import { hasScope } from "../principal.ts";
import { isExpiredKey, type Key, type Keys, type KeyRate, type RouteScope } from "./keys.ts";
import { RequestProblem } from "./problems.ts";
import { monotonic } from "../../base/index.ts";

export type RequestAdmission = ReturnType<typeof admission>;

/** By what requests are let in. `keys` gives those that hold now. */
export function admission(hostNames: readonly string[], keys: () => Keys) {
  const hosts = new Set(allowedHosts("localhost", hostNames));
  return {
    keys,
    /** Names under which the server may be addressed; those of its address are added once it listens. */
    hosts,
    /** Origins of pages that may ask, beside the origin that a request is sent to: a host, with its port unless that is the scheme's. */
    origins: new Set(hostNames.map((name) => name.toLowerCase())),
    /** What is left to keys of their rates. */
    buckets: new Map<string, Bucket>(),
    listensOn(host: string): void {
      for (const name of allowedHosts(host, [])) hosts.add(name);
    },
  };
}

/** Stands for the key of a request to a route that needs none. */
const OPEN_KEY: Key = { id: "", tenant: "", digest: Buffer.alloc(0), scopes: [] };

/**
 * Lets a request in by its host and origin, its key and the key's rate, and the scope that its route needs. Returns the
 * key; `onKey` is told whose request it is as soon as that is known. Throws a `RequestProblem`.
 */
export function admit(
  parts: RequestAdmission,
  { headers, url }: Request,
  { scope, keyHeader }: Asking,
  onKey: (key: Key) => void,
): Key {
  // A host's own server may pass requests on without this header.
  refuseForeign(parts, headers, headers.get("host") ?? new URL(url).host);
  if (scope === "none") return OPEN_KEY;
  const key = admittedKey(parts, keyIn(headers, keyHeader), onKey);
  if (scope !== "any" && !hasScope(key, scope))
    throw new RequestProblem("scope_missing", `This request needs the scope ${scope}, which this key does not have.`);
  return key;
}

interface Asking {
  readonly scope: RouteScope;
  readonly keyHeader?: string | undefined;
}

function keyIn(headers: Headers, keyHeader: string | undefined): string | null {
  const own = keyHeader === undefined ? null : headers.get(keyHeader);
  return headers.get("authorization") ?? (own === null ? null : `Bearer ${own}`);
}

/** Refuses requests under the name of another host, and requests of pages of another origin. Nothing but headers is read. */
function refuseForeign({ hosts, origins }: RequestAdmission, headers: Headers, host: string): void {
  const name = hostNameOf(host);
  if (name === undefined || !hosts.has(name))
    throw new RequestProblem(
      "host_unknown",
      "The server is not known under the host that the request names. Its operator can add a name with --host-name, or createServer({ hostNames }).",
    );
  const origin = headers.get("origin");
  if (origin !== null && !isOwnOrigin(origin, host, origins))
    throw new RequestProblem("origin_refused", "Pages of another origin have no access.");
}

/** The key of a request, if it has not expired and its rate allows another request. */
function admittedKey(parts: RequestAdmission, authorization: string | null, onKey: (key: Key) => void): Key {
  const key = parts.keys().find(authorization);
  if (!key) throw unauthorized("key_unknown", "The request has no valid key: send one as Authorization: Bearer KEY.");
  onKey(key);
  if (isExpiredKey(key))
    throw unauthorized("key_expired", `This key has expired at ${key.expires}. Ask the operator for another.`);
  const waitSeconds = key.rate && waitFor(parts, key.id, key.rate);
  if (waitSeconds === undefined) return key;
  throw new RequestProblem("rate_exceeded", `This key makes too many requests: try again in ${waitSeconds} s.`, {
    "retry-after": String(waitSeconds),
  });
}

function unauthorized(code: "key_unknown" | "key_expired", message: string): RequestProblem {
  return new RequestProblem(code, message, { "www-authenticate": "Bearer" });
}

interface Bucket {
  remaining: number;
  at: number;
}

/** Takes one request of a key; returns the seconds to wait if it may make none. Unused requests add up to `calls` (a token bucket). */
function waitFor({ buckets }: RequestAdmission, id: string, { calls, perMs }: KeyRate): number | undefined {
  const now = monotonic();
  const bucket = buckets.get(id) ?? { remaining: calls, at: now };
  buckets.set(id, bucket);
  bucket.remaining = Math.min(calls, bucket.remaining + ((now - bucket.at) * calls) / perMs);
  bucket.at = now;
  if (bucket.remaining < 1) return Math.ceil(((1 - bucket.remaining) * perMs) / calls / 1000);
  bucket.remaining -= 1;
  return undefined;
}
