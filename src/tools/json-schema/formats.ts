import { format as known } from "@cfworker/json-schema";
import { isPattern } from "./patterns/parse-pattern.ts";

/** Maximum length of a text with a format, in characters. A longer text does not match. */
const LONGEST = 64 * 1024;
/** Maximum length of texts whose format is short. Texts of times and durations may have any number of digits. */
const SHORT: Readonly<Record<string, number>> = {
  date: 10,
  "date-time": 256,
  duration: 256,
  email: 64 + "@".length + 253,
  hostname: 253,
  ipv4: 15,
  ipv6: 45,
  time: 256,
  uuid: 36,
};

/** Where the library's own check takes no linear time, or gives a foreign pattern to V8. */
const OWN: Readonly<Record<string, (text: string) => boolean>> = { url: isUrl, regex: isPattern };

/** Unknown formats match, as JSON Schema allows. */
export function fitsFormat(format: unknown, text: string): boolean {
  if (typeof format !== "string" || !Object.hasOwn(known, format)) return true;
  return text.length <= longest(format) && (OWN[format] ?? known[format])?.(text) === true;
}

function longest(format: string): number {
  return Object.hasOwn(SHORT, format) ? (SHORT[format] ?? 0) : LONGEST;
}

/** Steps of the check of a format. `regex` costs more: each place of a pattern becomes objects. */
export function formatSteps(format: unknown, length: number): number {
  if (typeof format !== "string" || length > longest(format)) return 1;
  return 1 + length * (format === "regex" ? 10 : 1 / 2);
}

/** A label of a host name: single hyphens, only between other characters. */
const LABEL = /^[a-z\u{a1}-\u{ffff}0-9]+(?:-[a-z\u{a1}-\u{ffff}0-9]+)*$/iu;
const TOP_LABEL = /^[a-z\u{a1}-\u{ffff}]{2,}$/iu;
const ADDRESS =
  /^(?!10(?:\.\d{1,3}){3})(?!127(?:\.\d{1,3}){3})(?!169\.254(?:\.\d{1,3}){2})(?!192\.168(?:\.\d{1,3}){2})(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}(?:\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4]))$/;

/** `http`, `https` or `ftp`, an optional user with @, a public host, an optional port and path. */
function isUrl(text: string): boolean {
  const scheme = /^(?:https?|ftp):\/\//i.exec(text)?.[0];
  if (scheme === undefined || /\s/.test(text)) return false;
  const rest = text.slice(scheme.length);
  // The user may contain slashes, so the host may begin at the start or after any @, and ends at the next slash.
  let start = 0;
  for (const part of rest.split("@")) {
    const slash = part.indexOf("/");
    const isWhole = slash >= 0 || start + part.length === rest.length;
    // The user before the first @ is not empty.
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
