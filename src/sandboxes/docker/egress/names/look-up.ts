import { Resolver } from "node:dns/promises";
import { addAbortListener } from "node:events";
import { after, cancel } from "../../../../clock.ts";
import { EgressRefusal } from "../egress-refusal.ts";

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
