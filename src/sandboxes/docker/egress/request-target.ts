import { canonicalHostName, readPort } from "./host-name.ts";

/** Where a request wants to go. */
export interface Target {
  /** In the form of `canonicalHostName`. */
  readonly host: string;
  readonly port: number;
}

/** A path and a query, as they are passed on. */
const PATH = /^\/[\x21\x22\x24-\x7e]*$/;

/** What a `CONNECT` names: a host and a port, and nothing else. */
export function parseAuthority(text: string, usualPort?: number): Target | undefined {
  const [, name = "", , digits] = /^([^:]*)(:(.*))?$/s.exec(text) ?? [];
  const host = canonicalHostName(name);
  const port = digits === undefined ? usualPort : readPort(digits);
  return host === undefined || port === undefined ? undefined : { host, port };
}

/** What any other request to a proxy names: `http://host/path`. No user, no fragment, no other scheme. */
export function parseAbsoluteTarget(text: string): (Target & { readonly path: string }) | undefined {
  const [, authority = "", rest = ""] = /^http:\/\/([^/?]*)(.*)$/is.exec(text) ?? [];
  const target = parseAuthority(authority, 80);
  const path = parsePath(rest.startsWith("/") ? rest : `/${rest}`);
  return target === undefined || path === undefined ? undefined : { ...target, path };
}

/** What a request names that is in a tunnel already. */
export function parsePath(text: string): string | undefined {
  return PATH.test(text) ? text : undefined;
}
