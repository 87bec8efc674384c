import { lookup } from "node:dns/promises";
import { optionsIn, type OptionsOf, readOptions, required, wholeNumber } from "../../../options/options.ts";
import { type AllowedHost, HOSTS, parseAllowList } from "./allow-list.ts";
import { type EgressLimits, USUAL_EGRESS_LIMITS } from "./egress-limits.ts";
import { isPublicAddress } from "./public-address.ts";

const EGRESS_RULES = {
  /**
   * Hosts that programs may reach: `api.example.com`, or `*.example.com` for all below it, by HTTP and HTTPS on their
   * usual ports; or with a port of their own, `api.example.com:8443`.
   */
  hosts: required(HOSTS),
  /** Bytes that one program may move, both ways together: 64 MiB by default. */
  totalBytes: wholeNumber({ min: 1, default: USUAL_EGRESS_LIMITS.totalBytes }),
};

/** Which hosts programs in containers may reach. */
export type EgressOptions = OptionsOf<typeof EGRESS_RULES>;

/** What a proxy needs to know of the hosts that its programs may reach. */
export interface EgressPlan {
  readonly allowed: readonly AllowedHost[];
  readonly limits: EgressLimits;
  /** All addresses of a host. */
  readonly lookup: (host: string) => Promise<readonly string[]>;
  readonly mayReach: (address: string) => boolean;
}

/** What is done with names and addresses outside of tests, whose servers are on this machine. */
export const USUAL_WAY: Pick<EgressPlan, "lookup" | "mayReach"> = {
  lookup: async (host) => (await lookup(host, { all: true, order: "ipv4first" })).map(({ address }) => address),
  mayReach: isPublicAddress,
};

const PLACE = optionsIn("createDockerSandbox", "egress");

/** Reads the option `egress`. Undefined for `none`. Throws `option_invalid` for what is no list of hosts. */
export function planEgress(egress: "none" | EgressOptions | undefined, way = USUAL_WAY): EgressPlan | undefined {
  if (egress === undefined || egress === "none") return undefined;
  const { hosts, totalBytes } = readOptions(PLACE, egress, EGRESS_RULES);
  return {
    allowed: parseAllowList(PLACE.at("hosts"), hosts),
    limits: { ...USUAL_EGRESS_LIMITS, totalBytes },
    ...way,
  };
}
