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

/** Where the library's own check takes no linear time (no standard says what `url` is), or gives a foreign pattern to V8. */
const OWN: Readonly<Record<string, (text: string) => boolean>> = {
  url: (text) => URL.canParse(text),
  regex: isPattern,
};

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
