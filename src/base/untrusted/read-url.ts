/** A domain name has no more characters. */
const HOST_LENGTH = 253;

/** The address that a text of others is; undefined for any other. `URL` takes a time that is quadratic in a host beyond ASCII, also if that is written in percent escapes. */
export function readUrl(text: string): URL | undefined {
  // The parser leaves these characters out. The host is behind the scheme, with or without slashes between them.
  const parts = text.replaceAll(/[\t\r\n]/g, "").split(/[/?#\\]+/, 2);
  if (parts.some((part) => part.length > HOST_LENGTH && /%|\P{ASCII}/u.test(part))) return undefined;
  return URL.parse(text) ?? undefined;
}
