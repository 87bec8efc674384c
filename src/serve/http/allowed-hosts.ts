import { hostname, networkInterfaces } from "node:os";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** Whether an address that is listened on can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === "::1" || host === "localhost" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/**
 * The names under which a door may be addressed. A page in a browser that was led to this machine under another name
 * (DNS rebinding) sends that other name.
 */
export function allowedHosts(host: string, more: readonly string[]): ReadonlySet<string> {
  const own = isLoopback(host)
    ? []
    : [hostname(), ...Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))];
  return new Set([
    ...LOOPBACK,
    ...[host, ...own, ...more.map(withoutPort)].map((name) => bracketed(name.toLowerCase())),
  ]);
}

/** A name of a host that may have a port behind it. An IPv6 address without brackets has none. */
function withoutPort(name: string): string {
  return /^([^:]{1,253}|\[[0-9a-f:.]{2,45}\]):\d{1,5}$/i.exec(name)?.[1] ?? name;
}

function bracketed(name: string): string {
  return name.includes(":") && !name.startsWith("[") ? `[${name}]` : name;
}

/** Name of the host in a `Host` header; undefined if it names none. */
export function hostNameOf(header: string | null): string | undefined {
  const found = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::\d{1,5})?$/i.exec(header ?? "");
  return found?.[1]?.toLowerCase();
}

/** Whether an `Origin` header names the host and the port that the request is sent to, or an allowed origin. */
export function isOwnOrigin(origin: string, host: string | null, allowed: ReadonlySet<string>): boolean {
  const [, scheme = "", place = ""] = /^(https?):\/\/(.{1,300})$/i.exec(origin) ?? [];
  if (hostNameOf(place) === undefined) return false;
  const from = withoutDefaultPort(place, scheme);
  return from === withoutDefaultPort(host ?? "", scheme) || allowed.has(from);
}

function withoutDefaultPort(place: string, scheme: string): string {
  const port = scheme.toLowerCase() === "https" ? ":443" : ":80";
  const lower = place.toLowerCase();
  return lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
}
