import type { Key, Keys } from "./keys.ts";
import { hostNameOf, originHostOf } from "./allowed-hosts.ts";
import type { Rates } from "./rates.ts";

/** Why a request is refused, before anything of it is read but its headers. */
export interface Refused {
  readonly status: 401 | 403 | 421 | 429;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AdmitParts {
  readonly hosts: ReadonlySet<string>;
  readonly keys: Keys;
  readonly rates: Rates;
}

/** Whether a request may come in, and with which key: its `Host`, its `Origin`, its key, its rate. */
export function admit({ hosts, keys, rates }: AdmitParts, headers: Headers): Key | Refused {
  const host = hostNameOf(headers.get("host"));
  if (host === undefined || !hosts.has(host))
    return {
      status: 421,
      message: "This door is not at the host that the request names. The operator allows a name by --host-name.",
    };
  const origin = headers.get("origin");
  if (origin !== null && !hosts.has(originHostOf(origin) ?? ""))
    return { status: 403, message: "Pages of another origin have no access." };
  const key = keys.find(headers.get("authorization"));
  if (!key)
    return {
      status: 401,
      message: "A key is needed: send it as Authorization: Bearer KEY.",
      headers: { "www-authenticate": "Bearer" },
    };
  const waitSeconds = key.rate && rates.take(key.id, key.rate);
  return waitSeconds === undefined
    ? key
    : {
        status: 429,
        message: `This key makes too many requests: try again in ${waitSeconds} s.`,
        headers: { "retry-after": String(waitSeconds) },
      };
}
