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

/** Reads a port from 1 to 65535, without leading zeros. */
export function readPort(text: string): number | undefined {
  return /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}
