/** What `pg` knows; it takes another word for none. */
const SSL_MODES: ReadonlySet<string> = new Set(
  "disable allow prefer require verify-ca verify-full no-verify".split(" "),
);

export const POSTGRES_URL = /^postgres(?:ql)?:\/\//;

/**
 * Whether a text is the URL of a database. In one whose password has a "/", "?" or "#" that is not encoded, the password ends
 * up in the path or the query, which errors show.
 */
export function isPostgresUrl(text: string): boolean {
  const url = POSTGRES_URL.test(text) ? URL.parse(text.replace("@/", "@host/")) : null;
  if (url?.hash !== "" || /,|%2c/i.test(url.host) || `${url.pathname}${url.search}`.includes("@")) return false;
  return url.searchParams.getAll("sslmode").every((mode) => SSL_MODES.has(mode));
}

/** The database of a URL as errors, logs and printed commands name it: without the password and without the query. */
export function namedDatabase(url: string): string {
  const { protocol, username, host, pathname } = new URL(url.replace("@/", "@host-of-query/"));
  const user = username === "" ? "" : `${username}@`;
  return `${protocol}//${user}${host === "host-of-query" ? "" : host}${pathname}`;
}

/** The URL without its password, for a command that a person runs with the password in the environment. */
export function withoutPassword(url: string): string {
  const at = url.indexOf("?");
  const [address, query] = at < 0 ? [url, ""] : [url.slice(0, at), url.slice(at + 1)];
  const kept = query.split("&").filter((part) => part !== "" && !/^(?:ssl)?password=/i.test(part));
  return address.replace(/^(\w+:\/\/[^/:@]*):.*@/, "$1@") + (kept.length > 0 ? `?${kept.join("&")}` : "");
}
