import type { CallView, ProgramView } from "../../src/serve/views/view.ts";
import { tookOf } from "../../src/serve/views/timeline.ts";
import { limitText, endingWord } from "../../src/serve/views/words.ts";
import { amount, bytes, count, duration } from "../format.ts";

/** Where two executions part. */
export interface Difference {
  readonly text: string;
  /** The first line, counted from 1, that the programs do not share. */
  readonly sources?: undefined | { readonly line: number; readonly texts: readonly (string | undefined)[] };
  /** The first calls that are not equal, in the order in which they were made, counted from 1. */
  readonly calls?: undefined | { readonly number: number; readonly both: readonly (CallView | undefined)[] };
}

export function firstDifference(left: ProgramView, right: ProgramView): Difference {
  const sources = left.source === right.source ? undefined : differentLine(left.source, right.source);
  const calls = differentCall(left.calls, right.calls);
  if (calls) return { text: calls.text, calls, ...(sources && { sources }) };
  return {
    text: "Both made the same calls with the same inputs and got the same answers, as far as these are shown here.",
    ...(sources && { sources }),
  };
}

function differentLine(left: string, right: string) {
  const [one, other] = [left.split("\n"), right.split("\n")];
  let index = 0;
  while (one[index] === other[index] && index < one.length) index += 1;
  return { line: index + 1, texts: [one[index], other[index]] };
}

function differentCall(left: readonly CallView[], right: readonly CallView[]) {
  const length = Math.max(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const both = [left[index], right[index]] as const;
    const text = differenceOf(index + 1, ...both);
    if (text !== undefined) return { number: index + 1, both, text };
  }
  return undefined;
}

function differenceOf(number: number, one: CallView | undefined, other: CallView | undefined): string | undefined {
  if (!one || !other) return onlyText(number, one ? ["A", "B"] : ["B", "A"]);
  if (one.tool !== other.tool)
    return `The programs make different calls from call ${number} on: A calls ${one.tool}, and B calls ${other.tool}.`;
  if (one.input.text !== other.input.text) return `Both make call ${number} to ${one.tool}, but with different inputs.`;
  if (one.state !== other.state || one.result?.text !== other.result?.text)
    return `Both make call ${number} to ${one.tool} with the same input, but get different answers.`;
  return undefined;
}

function onlyText(number: number, [more, fewer]: readonly [string, string]): string {
  if (number === 1) return `Only ${more} makes calls.`;
  return `Both make the same calls up to call ${number - 1}. Then ${more} makes further calls, and ${fewer} makes none.`;
}

/** One measure of both executions. */
export interface Measure {
  readonly name: string;
  readonly texts: readonly [string, string];
  /** How the second differs from the first; empty if it does not. */
  readonly difference: string;
  /** It differs by a tenth or more, or in kind. */
  readonly isLarge: boolean;
}

/** A difference of this part of a measure, or more, is large. */
const LARGE = 10;
/** Limits whose use is no other measure. */
const LIMITS = ["cpuMs", "memoryBytes", "logBytes"];

/** All measures of two executions, those of the whole first. */
export function measuresOf(left: ProgramView, right: ProgramView): readonly Measure[] {
  const of = (value: (view: ProgramView) => number | undefined, name: string, as: (value: number) => string) =>
    measure(name, [value(left), value(right)], as);
  const tools = [...new Set([...left.calls, ...right.calls].map(({ tool }) => tool))];
  const endings = [left, right].map(({ outcome, state }) => (outcome ? endingWord(outcome.type) : state));
  const [one = "", other = ""] = endings;
  return [
    { name: "outcome", texts: [one, other], difference: one === other ? "" : "differs", isLarge: one !== other },
    ...of(({ lastAt, startedAt }) => lastAt - startedAt, "time", duration),
    ...of(({ calls, callsLeft = 0 }) => calls.length + callsLeft, "calls", count),
    ...of(({ funnel }) => funnel.fetched.bytes, "returned by tools", bytes),
    ...of(({ funnel }) => funnel.returned?.bytes, "given to the model", bytes),
    ...tools.flatMap((tool) => toolMeasures(tool, left, right)),
    ...LIMITS.flatMap((name) => {
      const used = [left, right].map(({ limits }) => limits.find((limit) => limit.name === name)?.used);
      return measure(limitText(name), used, (value) => amount(name, value));
    }),
  ];
}

function toolMeasures(tool: string, ...views: readonly ProgramView[]): readonly Measure[] {
  const own = views.map(({ calls }) => calls.filter((call) => call.tool === tool));
  const sum = (of: (call: CallView) => number) => own.map((all) => all.reduce((total, call) => total + of(call), 0));
  const isBad = ({ state }: CallView) => (state === "failed" || state === "refused" ? 1 : 0);
  return [
    ...measure(
      `${tool}: calls`,
      sum(() => 1),
      count,
    ),
    ...measure(
      `${tool}: time`,
      own.map((all) => tookOf(all)?.inAll),
      duration,
    ),
    ...measure(
      `${tool}: bytes`,
      sum((call) => call.bytes),
      bytes,
    ),
    ...measure(`${tool}: without a value`, sum(isBad), count),
  ];
}

function measure(
  name: string,
  [one, other]: readonly (number | undefined)[],
  as: (value: number) => string,
): readonly Measure[] {
  if (one === undefined && other === undefined) return [];
  if (one === undefined || other === undefined) {
    const text = (value: number | undefined) => (value === undefined ? "none" : as(value));
    return [{ name, texts: [text(one), text(other)], difference: "differs", isLarge: true }];
  }
  const texts = [as(one), as(other)] as const;
  if (texts[0] === texts[1]) return [{ name, texts, difference: "", isLarge: false }];
  const by = other - one;
  const sign = by > 0 ? "+" : "\u2212";
  const percent = one === 0 ? 0 : Math.round((Math.abs(by) / one) * 100);
  const share = percent === 0 ? "" : ` (${sign}${percent}\u00a0%)`;
  const isLarge = Math.abs(by) * LARGE >= Math.abs(one);
  return [{ name, texts, difference: `${sign}${as(Math.abs(by))}${share}`, isLarge }];
}
