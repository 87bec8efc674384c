import { cleanText, count, countText, pointerKeys } from "../../base/texts.ts";
import type { Effect } from "../../tools/tool.ts";

export interface GrantWords {
  readonly calls?: number | undefined;
  readonly sums?: Readonly<Record<string, number>> | undefined;
  readonly untilMs?: number | undefined;
}

/** A grant as a person says it at the time `now`: `19 more calls of orders.refund with at most 500 of amount in all, until 18:00`. */
export function grantText({ calls, sums = {}, untilMs }: GrantWords, now: number, tool?: string): string {
  const of = tool === undefined ? "" : ` of ${tool}`;
  const number = calls === undefined ? "any number of calls" : countText(calls, "more call");
  const amounts = Object.entries(sums).map(
    ([pointer, sum]) => `at most ${count(sum)} of ${pointerKeys(pointer).join(".")} in all`,
  );
  const which = amounts.length === 0 ? "" : ` with ${amounts.join(" and ")}`;
  return cleanText(`${number}${of}${which}${untilMs === undefined ? "" : `, until ${timeText(untilMs, now)}`}`);
}

/** The time of day where this process is, with the day if that is another. */
function timeText(ms: number, now: number): string {
  const at = new Date(ms);
  const two = (number: number) => String(number).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  const isToday = at.toDateString() === new Date(now).toDateString();
  return isToday ? time : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** What a call changes, for a person who decides about it. */
export const CHANGES: Readonly<Record<Effect, string>> = {
  read: "It changes nothing.",
  idempotent: "It changes something; repeating it changes nothing more.",
  write: "It changes something each time.",
};
