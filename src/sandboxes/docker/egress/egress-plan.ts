import {
  after,
  cancel,
  isNearAddress,
  isPublicAddress,
  optionsIn,
  type OptionsOf,
  readOptions,
  required,
  wholeNumber,
} from "../../../base/index.ts";
import { type AllowedHost, HOSTS, parseAllowList } from "./names/allow-list.ts";
import { Resolver } from "node:dns/promises";
import { addAbortListener } from "node:events";
import { EgressRefusal } from "./egress-refusal.ts";

/** Limits of one container's egress. Times are in milliseconds. */
export const USUAL_EGRESS_LIMITS = {
  /** Bytes in both directions, of all connections together. */
  totalBytes: 64 * 1024 * 1024,
  /** Connections in all; after that many the proxy accepts no more. */
  connections: 1000,
  connectionsAtOnce: 32,
  /** Size of the headers of a request or an answer, and of the first messages of a TLS connection. */
  headerBytes: 16 * 1024,
  /** How long a client may take to send a request's headers. */
  headerMs: 10_000,
  /** How long the look-up of a host may take, and then the connection to it. */
  connectMs: 10_000,
  /** How long a connection may move no bytes. */
  idleMs: 30_000,
  /** How long a connection may last. */
  connectionMs: 300_000,
};

export type EgressLimits = Readonly<typeof USUAL_EGRESS_LIMITS>;

export const EGRESS_RULES = {
  /**
   * Hosts that programs may reach: `api.example.com`, or `*.example.com` for all its subdomains, on the ports of HTTP and
   * HTTPS (80 and 443); or with another port, `api.example.com:8443`.
   */
  hosts: required(HOSTS),
  /** Bytes that one program may send and receive together; 64 MiB by default. */
  totalBytes: wholeNumber({ min: 1, default: USUAL_EGRESS_LIMITS.totalBytes }),
};

/** Which hosts programs in containers may reach. */
export type EgressOptions = OptionsOf<typeof EGRESS_RULES>;

/** The rules of an egress proxy. */
export interface EgressPlan {
  readonly allowed: readonly AllowedHost[];
  readonly limits: EgressLimits;
  /** Looks up all addresses of a host. The signal is aborted when its container has ended. */
  readonly lookup: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** Whether programs may connect to an address. */
  readonly mayReach: (address: string) => boolean;
}

/** The look-up and the address check outside of tests. Tests replace them, because their servers are on this machine. */
export const USUAL_WAY: Pick<EgressPlan, "lookup" | "mayReach"> = {
  lookup: lookUp,
  mayReach: (address) => isPublicAddress(address) && !isNearAddress(address),
};

const PLACE = optionsIn("createDockerSandbox", "egress");

/** Reads the option `egress`. Undefined for `none`. Throws `option_invalid` for an invalid list of hosts. */
export function planEgress(egress: "none" | EgressOptions | undefined, way = USUAL_WAY): EgressPlan | undefined {
  if (egress === undefined || egress === "none") return undefined;
  const { hosts, totalBytes } = readOptions(PLACE, egress, EGRESS_RULES);
  return {
    allowed: parseAllowList(PLACE.at("hosts"), hosts),
    limits: { ...USUAL_EGRESS_LIMITS, totalBytes },
    ...way,
  };
}

/** How long a name server may take for the first try, in milliseconds; for the second twice as long. */
const TRY_MS = 2000;
const TRIES = 2;
/** How long all of a look-up may take. */
const MOST_MS = 9000;

/** A name that only has IPv6 addresses if the network translates between IPv6 and IPv4 (RFC 7050). */
const TRANSLATED = "ipv4only.arpa";

/**
 * Looks up all addresses of a host, IPv4 first; none if there are none. It asks name servers by sockets. The system's
 * own look-up would occupy one of the few look-up threads of the process for as long as an attacker's server likes.
 * Rejects with an `EgressRefusal` if an IPv6 address may stand for any IPv4 address.
 */
export async function lookUp(
  host: string,
  signal: AbortSignal,
  servers?: readonly string[],
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  const giveUp = () => resolver.cancel();
  const timer = after(MOST_MS, giveUp);
  using _ = addAbortListener(signal, giveUp);
  const found = (addresses: Promise<readonly string[]>) => addresses.catch(() => []);
  try {
    const [ipv4, ipv6] = await Promise.all([found(resolver.resolve4(host)), found(resolver.resolve6(host))]);
    if (ipv6.length > 0 && (await found(resolver.resolve6(TRANSLATED))).length > 0)
      throw new EgressRefusal(
        403,
        "Address Not Public",
        `${host} has an IPv6 address, and in this network it may be translated to an IPv4 address that programs may not reach.`,
      );
    return [...ipv4, ...ipv6];
  } finally {
    cancel(timer);
  }
}
