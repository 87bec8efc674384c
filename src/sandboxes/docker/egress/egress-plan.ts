import { lookup } from "node:dns/promises";
import { optionError } from "../../../errors.ts";
import { type AllowedHost, parseAllowList } from "./allow-list.ts";
import { type EgressLimits, USUAL_EGRESS_LIMITS } from "./egress-limits.ts";
import { isPublicAddress } from "./public-address.ts";

/** What an operator says of the way out of a container. */
export interface EgressOptions {
  /**
   * Hosts that programs may reach: `api.example.com`, or `*.example.com` for all below it, by HTTP and HTTPS on their
   * usual ports; or with a port of their own, `api.example.com:8443`.
   */
  readonly hosts: readonly string[];
  /** Bytes that one program may move, both ways together: 64 MiB by default. */
  readonly totalBytes?: number;
}

/** The same, as a proxy needs it. */
export interface EgressPlan {
  readonly allowed: readonly AllowedHost[];
  readonly limits: EgressLimits;
  /** All addresses of a host. */
  readonly lookup: (host: string) => Promise<readonly string[]>;
  readonly mayReach: (address: string) => boolean;
}

const OPTIONS = ["hosts", "totalBytes"];

/** What is done with names and addresses outside of tests, whose servers are on this machine. */
export const USUAL_WAY: Pick<EgressPlan, "lookup" | "mayReach"> = {
  lookup: async (host) => (await lookup(host, { all: true, order: "ipv4first" })).map(({ address }) => address),
  mayReach: isPublicAddress,
};

/** Reads the option `egress`. Undefined for `none`. Throws a sentence for what is neither that nor a list of hosts. */
export function planEgress(egress: unknown, way = USUAL_WAY): EgressPlan | undefined {
  if (egress === undefined || egress === "none") return undefined;
  if (typeof egress !== "object" || egress === null || Array.isArray(egress))
    throw optionError("egress", '"none", or { hosts } with the hosts that programs may reach', egress);
  const unknown = Object.keys(egress).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) throw optionError("egress", `nothing but ${OPTIONS.join(" and ")}`, { [unknown]: "…" });
  const { hosts, totalBytes = USUAL_EGRESS_LIMITS.totalBytes } = egress as Partial<EgressOptions>;
  if (!Number.isSafeInteger(totalBytes) || totalBytes < 1)
    throw optionError("egress.totalBytes", "a whole number of bytes from 1", totalBytes);
  return {
    allowed: parseAllowList("egress.hosts", hosts),
    limits: { ...USUAL_EGRESS_LIMITS, totalBytes },
    ...way,
  };
}
