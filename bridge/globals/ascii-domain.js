/*
 * Stands for tr46 in the part `url`. The tables of international names are larger than everything else, so they are a
 * part of their own, which is loaded for the first name that needs them. In a domain of ASCII without a Punycode label
 * tr46 only changes the case: each ASCII character is valid, or mapped to its lower case, and written from left to right.
 */
export function toASCII(domain, options) {
  const lower = domain.toLowerCase();
  if (!/[^\0-\x7f]/.test(domain) && !lower.includes("xn--")) return lower;
  return require("part:idna").toASCII(domain, options);
}
