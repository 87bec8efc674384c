import { format as known } from "@cfworker/json-schema";

/** Longest text whose format is checked, in characters: what is longer has none of these formats. */
const LONGEST = 64 * 1024;

/**
 * Formats that are checked; JSON Schema lets others be. All of them take time in proportion to the text: those of the
 * library do, but for its `url`, which is the same said without backtracking.
 */
export function fitsFormat(format: unknown, text: string): boolean {
  if (typeof format !== "string" || !Object.hasOwn(known, format)) return true;
  return text.length <= LONGEST && (format === "url" ? isUrl(text) : known[format]?.(text) === true);
}

/** Steps that a format takes for each character. The engine makes ranges of thousands of characters of a few in a regular expression. */
export function formatSteps(format: unknown): number {
  return format === "regex" ? 100 : 1 / 8;
}

/** A part of a host's name: hyphens stand alone, and between other characters. */
const LABEL = /^[a-z\u{a1}-\u{ffff}0-9]+(?:-[a-z\u{a1}-\u{ffff}0-9]+)*$/iu;
const TOP_LABEL = /^[a-z\u{a1}-\u{ffff}]{2,}$/iu;
const ADDRESS =
  /^(?!10(?:\.\d{1,3}){3})(?!127(?:\.\d{1,3}){3})(?!169\.254(?:\.\d{1,3}){2})(?!192\.168(?:\.\d{1,3}){2})(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}(?:\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4]))$/;

/** `http`, `https` or `ftp`, perhaps a user and an @, a public host, perhaps a port and a path. */
function isUrl(text: string): boolean {
  const scheme = /^(?:https?|ftp):\/\//i.exec(text)?.[0];
  if (scheme === undefined || /\s/.test(text)) return false;
  const rest = text.slice(scheme.length);
  // A name may have slashes in it: the host stands at the beginning, or behind any @, up to the next slash.
  let start = 0;
  for (const part of rest.split("@")) {
    const slash = part.indexOf("/");
    const isWhole = slash >= 0 || start + part.length === rest.length;
    // Something stands before the first @.
    if (isWhole && start !== 1 && isHostAndPort(slash < 0 ? part : part.slice(0, slash))) return true;
    start += part.length + 1;
  }
  return false;
}

function isHostAndPort(text: string): boolean {
  const host = text.replace(/:\d{2,5}$/, "");
  if (ADDRESS.test(host)) return true;
  const labels = host.split(".");
  return labels.length > 1 && TOP_LABEL.test(labels.at(-1) ?? "") && labels.every((label) => LABEL.test(label));
}
