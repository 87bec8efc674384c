import { canonicalHostName, readPort } from "./names/allow-list.ts";

export interface Target {
  /** In the form of `canonicalHostName`. */
  readonly host: string;
  readonly port: number;
}

export interface TargetWithPath extends Target {
  readonly path: string;
}

/** A path with an optional query, as it is forwarded. */
const PATH = /^\/[\x21\x22\x24-\x7e]*$/;

/** Reads the target of a `CONNECT`: a host and a port. Undefined for anything else. */
export function parseAuthority(text: string, usualPort?: number): Target | undefined {
  const [, name = "", , digits] = /^([^:]*)(:(.*))?$/s.exec(text) ?? [];
  const host = canonicalHostName(name);
  const port = digits === undefined ? usualPort : readPort(digits);
  return host === undefined || port === undefined ? undefined : { host, port };
}

/** Reads the target of any other request to a proxy: `http://host/path`, without user, fragment or another scheme. */
export function parseAbsoluteTarget(text: string): TargetWithPath | undefined {
  const [, authority = "", rest = ""] = /^http:\/\/([^/?]*)(.*)$/is.exec(text) ?? [];
  return parsePath(rest.startsWith("/") ? rest : `/${rest}`, parseAuthority(authority, 80));
}

/** Reads the target of a request in a tunnel to `target`, which is only a path. */
export function parsePath(text: string, target: Target | undefined): TargetWithPath | undefined {
  return target !== undefined && PATH.test(text) ? { ...target, path: text } : undefined;
}
