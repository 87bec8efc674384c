import { byteText as bytes, count, countText } from "../src/base/texts.ts";
import type { Took } from "../src/serve/views/timeline.ts";
import { duration } from "../src/serve/views/words.ts";

export { bytes, count, countText, duration };

/** A time of the reader's own zone. */
export function time(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime())
    ? ""
    : date.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
}

/** Like `time`, today without the date. */
export function timeToday(at: number): string {
  const date = new Date(at);
  return date.toDateString() === new Date().toDateString()
    ? date.toLocaleTimeString(undefined, { timeStyle: "medium" })
    : time(at);
}

/** How long some calls took. */
export function tookText({ inAll, each }: Took): string {
  return `${duration(inAll)} in all, ${duration(each)} on average`;
}

/** A limit's value in the unit at the end of its name. */
export function amount(name: string, value: number): string {
  if (name.endsWith("Ms")) return duration(value);
  if (name.endsWith("Bytes")) return bytes(value);
  return count(value);
}
