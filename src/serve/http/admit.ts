import { hostNameOf, isOwnOrigin } from "./allowed-hosts.ts";
import { isExpired, type Key, type Keys } from "./keys.ts";
import type { Problem } from "./problems.ts";
import type { Rates } from "./rates.ts";

export interface AdmitParts {
  readonly hosts: ReadonlySet<string>;
  /** Origins of pages that may ask, beside the origin that a request is sent to: a host, with its port unless that is the scheme's. */
  readonly origins: ReadonlySet<string>;
  readonly keys: Keys;
  readonly rates: Rates;
}

/** Why a request is not let in, and whose request it is, if that is known. */
export interface NotAdmitted extends Problem {
  readonly key?: Key;
}

/** Whether a request may come in, and with which key: its `Host`, its `Origin`, its key, its rate. Nothing but its headers is read. */
export function admit(parts: AdmitParts, headers: Headers, host = headers.get("host")): Key | NotAdmitted {
  return refuseForeign(parts, headers, host) ?? admitKey(parts, headers);
}

/** Refuses requests under the name of another host, and requests of pages of another origin. */
export function refuseForeign(
  { hosts, origins }: Pick<AdmitParts, "hosts" | "origins">,
  headers: Headers,
  host = headers.get("host"),
): Problem | undefined {
  const name = hostNameOf(host);
  if (name === undefined || !hosts.has(name))
    return {
      code: "host_unknown",
      message:
        "The server is not known under the host that the request names. Its operator can add a name with --host-name, or createServer({ hostNames }).",
    };
  const origin = headers.get("origin");
  if (origin !== null && !isOwnOrigin(origin, host, origins))
    return { code: "origin_refused", message: "Pages of another origin have no access." };
  return undefined;
}

function admitKey({ keys, rates }: AdmitParts, headers: Headers): Key | NotAdmitted {
  const key = keys.find(headers.get("authorization"));
  if (!key) return unauthorized("key_unknown", "The request has no valid key: send one as Authorization: Bearer KEY.");
  if (isExpired(key))
    return {
      ...unauthorized("key_expired", `This key has expired at ${key.expires}. Ask the operator for another.`),
      key,
    };
  const waitSeconds = key.rate && rates.take(key.id, key.rate);
  return waitSeconds === undefined
    ? key
    : {
        code: "rate_exceeded",
        message: `This key makes too many requests: try again in ${waitSeconds} s.`,
        headers: { "retry-after": String(waitSeconds) },
        key,
      };
}

function unauthorized(code: "key_unknown" | "key_expired", message: string): Problem {
  return { code, message, headers: { "www-authenticate": "Bearer" } };
}
