import { hostname, networkInterfaces } from "node:os";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** Whether an address that is listened on can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === "::1" || host === "localhost" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/**
 * The names under which a door may be addressed. A page in a browser that was led to this machine under another name
 * (DNS rebinding) names that one.
 */
export function allowedHosts(host: string, more: readonly string[]): ReadonlySet<string> {
  const own = isLoopback(host)
    ? []
    : [hostname(), ...Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))];
  return new Set([...LOOPBACK, ...[host, ...own, ...more].map((name) => bracketed(name.toLowerCase()))]);
}

function bracketed(name: string): string {
  return name.includes(":") && !name.startsWith("[") ? `[${name}]` : name;
}

/** Name of the host in a `Host` header; undefined for one that is none. */
export function hostNameOf(header: string | null): string | undefined {
  const found = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::\d{1,5})?$/i.exec(header ?? "");
  return found?.[1]?.toLowerCase();
}

/** Name of the host in an `Origin` header; undefined for one that names none, like `null`. */
export function originHostOf(header: string): string | undefined {
  const found = /^https?:\/\/(.{1,300})$/i.exec(header);
  return hostNameOf(found?.[1] ?? null);
}
