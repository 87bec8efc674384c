import { lookup } from "node:dns/promises";
import { optionsIn, type OptionsOf, readOptions, required, wholeNumber } from "../../../options/options.ts";
import { type AllowedHost, HOSTS, parseAllowList } from "./allow-list.ts";
import { type EgressLimits, USUAL_EGRESS_LIMITS } from "./egress-limits.ts";
import { isPublicAddress } from "./public-address.ts";

const EGRESS_RULES = {
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
  /** Looks up all addresses of a host. */
  readonly lookup: (host: string) => Promise<readonly string[]>;
  /** Whether programs may connect to an address. */
  readonly mayReach: (address: string) => boolean;
}

/** The look-up and the address check outside of tests. Tests replace them, because their servers are on this machine. */
export const USUAL_WAY: Pick<EgressPlan, "lookup" | "mayReach"> = {
  lookup: async (host) => (await lookup(host, { all: true, order: "ipv4first" })).map(({ address }) => address),
  mayReach: isPublicAddress,
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
