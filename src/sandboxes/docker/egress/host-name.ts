const LONGEST_NAME = 253;
/** Letters, digits, hyphens; underscores, which some names of services have. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** A name that ends like this is read as an address by some of those who read it: 127.1, 0x7f.1, 2130706433. */
const NUMBER = /^(?:[0-9]+|0x[0-9a-f]*)$/;

/**
 * A host name in the one form in which names are compared: ASCII, lower case, no dot at its end. Undefined for anything
 * else. Nothing is decoded, cut or mended, so that no later reader can take the name for another one.
 */
export function canonicalHostName(text: string): string | undefined {
  const name = text.toLowerCase();
  // Some letters elsewhere have their lower case in ASCII.
  if (text.length > LONGEST_NAME || !/^[\x21-\x7e]+$/.test(text)) return undefined;
  const labels = name.split(".");
  return labels.every((label) => LABEL.test(label)) && !NUMBER.test(labels.at(-1) ?? "") ? name : undefined;
}

/** A port as it is written, from 1 to 65535 and without zeros before it. */
export function readPort(text: string): number | undefined {
  return /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}
