import { optionsIn, type OptionsOf, readOptions, required, wholeNumber } from "../../../option-rules/options.ts";
import { type AllowedHost, HOSTS, parseAllowList } from "./names/allow-list.ts";
import { lookUp } from "./names/look-up.ts";
import { isNearAddress, isPublicAddress } from "../../../untrusted/public-address.ts";

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
