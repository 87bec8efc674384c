import { lookup as lookUp, type LookupAddress } from "node:dns";
import type { ClientRequest, IncomingMessage } from "node:http";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";

/** IPv4 networks that are not part of the public internet (IANA's registry of special-purpose addresses). */
const SPECIAL_IPV4 =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4";
/** The global unicast range of IPv6. Local addresses and forms that contain an IPv4 address (mapped, NAT64) are outside of it. */
const GLOBAL_IPV6 = "2000::/3";
/** Special networks in that range: protocol assignments (such as Teredo), documentation, 6to4. */
const SPECIAL_IPV6 = "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20";

const specialIpv4 = blockList(SPECIAL_IPV4.split(" "));
const globalIpv6 = blockList([GLOBAL_IPV6]);
const specialIpv6 = blockList(SPECIAL_IPV6.split(" "));

/** Whether an address is on the public internet: in no special network, and no form that may route to one. */
export function isPublicAddress(address: string): boolean {
  // An address with a zone belongs to a network of this machine.
  if (address.includes("%")) return false;
  const version = isIP(address);
  if (version === 4) return !specialIpv4.check(address, "ipv4");
  return version === 6 && globalIpv6.check(address, "ipv6") && !specialIpv6.check(address, "ipv6");
}

/**
 * How a request looks up the name that it connects to, so that the address that is connected to is the one that was checked:
 * each of a name's addresses has to be public. A host that is an address is not looked up.
 */
export function publicLookup(refusal: (host: string) => Error): LookupFunction {
  return (host, options, done) => {
    lookUp(host, { ...options, all: true }, (error, found) => {
      const addresses = found as unknown as readonly LookupAddress[] | undefined;
      if (error) return done(error, "", 0);
      const [first] = addresses ?? [];
      if (!first || !addresses?.every(({ address }) => isPublicAddress(address))) return done(refusal(host), "", 0);
      if (options.all)
        return (done as unknown as (error: null, all: readonly LookupAddress[]) => void)(null, addresses);
      return done(null, first.address, first.family);
    });
  };
}

/**
 * The answer to a request. Rejects for one that switches to another protocol, of which node tells by another event, after which
 * a signal aborts nothing.
 */
export function answerTo(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.once("response", resolve);
    sent.on("error", reject);
    sent.once("upgrade", (_, socket) => {
      socket.destroy();
      reject(new Error("The answer switches to another protocol."));
    });
    sent.once("close", () => reject(new Error("The connection was closed before an answer came.")));
  });
}

/** Host of a URL as a request connects to it. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

/** Whether a host is an address that is not public. */
export const isOtherAddress = (host: string): boolean => isIP(host) !== 0 && !isPublicAddress(host);

/** Whether an address is in a network of this machine: if public, it may still lead behind a firewall. */
export function isNearAddress(address: string, interfaces = networkInterfaces()): boolean {
  const near = Object.values(interfaces).flatMap((addresses) => addresses?.map(({ cidr }) => cidr ?? "") ?? []);
  return blockList(near).check(address, familyOf(address));
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [net = "", bits] = network.split("/");
    if (isIP(net) !== 0) list.addSubnet(net, Number(bits), familyOf(net));
  }
  return list;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/** The address over HTTP that a setting is; undefined for any other. `URL` takes two hosts, a pattern and a variable for a host. */
export function httpUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url && /^https?:$/.test(url.protocol) && !/[^\w.:[\]-]/.test(url.host) ? url : undefined;
}

/** A domain name has no more characters. */
const HOST_LENGTH = 253;

/** The address that a text of others is; undefined for any other. `URL` takes a time that is quadratic in a host beyond ASCII, also in percent escapes. */
export function readUrl(text: string): URL | undefined {
  // The parser leaves these characters out. The host is behind the scheme, with or without slashes between them.
  const parts = text.replaceAll(/[\t\r\n]/g, "").split(/[/?#\\]+/, 2);
  if (parts.some((part) => part.length > HOST_LENGTH && /%|\P{ASCII}/u.test(part))) return undefined;
  return URL.parse(text) ?? undefined;
}
