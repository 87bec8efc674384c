import { checkValue, option as optionRule, optionError } from "../../../../base/index.ts";

/** Ports of an entry that names none: HTTP and HTTPS. */
const USUAL_PORTS: readonly number[] = [80, 443];
const MAX_HOSTS = 1000;
const FORM = 'host names, as "api.example.com", "*.example.com" or "api.example.com:8443"';

/** One line of an operator's list. */
export interface AllowedHost {
  /** In the form of `canonicalHostName`. */
  readonly name: string;
  /** Whether it matches all subdomains of `name`, and not `name` itself. */
  readonly below: boolean;
  readonly ports: readonly number[];
}

/** Checks the list as a whole; `parseAllowList` checks each entry. */
export const HOSTS = optionRule<readonly string[]>(
  `a list of 1 to ${MAX_HOSTS} ${FORM}`,
  (value) => Array.isArray(value) && value.length > 0 && value.length <= MAX_HOSTS,
);

export function parseAllowList(option: string, hosts: unknown): readonly AllowedHost[] {
  checkValue(option, hosts, HOSTS);
  return (hosts as readonly unknown[]).map((entry, index) => parseEntry(`${option}[${index}]`, entry));
}

/** Whether a name, in the form of `canonicalHostName`, and a port are on the list. */
export function isAllowed(list: readonly AllowedHost[], name: string, port: number): boolean {
  return list.some(
    (allowed) =>
      allowed.ports.includes(port) && (allowed.below ? name.endsWith(`.${allowed.name}`) : name === allowed.name),
  );
}

function parseEntry(option: string, entry: unknown): AllowedHost {
  if (typeof entry !== "string") throw optionError(option, `one of ${FORM}`, entry);
  const [, star, host = "", , port] = /^(\*\.)?([^:]*)(:(.*))?$/s.exec(entry) ?? [];
  const name = canonicalHostName(host);
  // "https://…" would be read as a host named https.
  if (name === undefined || entry.includes("/"))
    throw optionError(
      option,
      `a host name in ASCII (no address, no scheme, no path; other scripts in their form with xn--)`,
      entry,
    );
  // "*.com" would match almost any host.
  if (star !== undefined && !name.includes(".")) throw optionError(option, "two names or more after the *", entry);
  if (port === undefined) return { name, below: star !== undefined, ports: USUAL_PORTS };
  const own = readPort(port);
  if (own === undefined) throw optionError(option, "a port from 1 to 65535 after the colon", entry);
  return { name, below: star !== undefined, ports: [own] };
}

const MAX_NAME_LENGTH = 253;
/** Letters, digits, hyphens, and underscores, which occur in names of services. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** Some parsers read a name that ends in a number as an address: 127.1, 0x7f.1, 2130706433. */
const NUMBER = /^(?:[0-9]+|0x[0-9a-f]*)$/;

/**
 * Returns a host name in the canonical form for comparisons: ASCII, lower case, no trailing dot. Undefined for anything
 * else. Nothing is decoded, trimmed or corrected, so that no other parser can read a different name from the same text.
 */
export function canonicalHostName(text: string): string | undefined {
  const name = text.toLowerCase();
  // Checked before lowering the case: some non-ASCII letters have an ASCII lower case.
  if (text.length > MAX_NAME_LENGTH || !/^[\x21-\x7e]+$/.test(text)) return undefined;
  const labels = name.split(".");
  return labels.every((label) => LABEL.test(label)) && !NUMBER.test(labels.at(-1) ?? "") ? name : undefined;
}

export function readPort(text: string): number | undefined {
  return /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}
