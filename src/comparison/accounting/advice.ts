import { count, counted } from "../../output/count-text.ts";
import { costOf, type Factors, spentBy } from "./accounting.ts";
import type { Exchange, ExchangeCall } from "./count-exchange.ts";

/** Maximum number of calls that is tried. */
const MAX_CALLS = 10_000;

/** From how many such calls in one turn on a program costs less than direct calls; undefined above `MAX_CALLS`. */
export function programsFrom(
  call: ExchangeCall,
  direct: Exchange,
  programs: Exchange,
  factors: Factors,
): number | undefined {
  const limit = costOf(spentBy(programs), factors).cached;
  const answer = direct.turns.at(-1) ?? { words: 0, calls: [] };
  const isDearer = (count: number) => {
    const calls = Array.from({ length: count }, () => call);
    return costOf(spentBy({ ...direct, turns: [{ words: 0, calls }, answer] }), factors).cached > limit;
  };
  if (!isDearer(MAX_CALLS)) return undefined;
  let cheaper = 0;
  let dearer = MAX_CALLS;
  while (dearer - cheaper > 1) {
    const middle = (cheaper + dearer) >>> 1;
    if (isDearer(middle)) dearer = middle;
    else cheaper = middle;
  }
  return dearer;
}

/** Break-even numbers above this are reported as advice to call directly up to there. */
const FEW_CALLS = 3;

/** Advice on one tool, as a sentence for the report. */
export function adviceText(tool: string, resultTokens: number, from: number | undefined): string {
  const size = `One result of ${tool} has about ${counted(resultTokens, "token")}`;
  if (from === undefined) return `${size}: call it directly.`;
  if (from > FEW_CALLS)
    return `${size}: for up to ${counted(from - 1, "call")} it is better called directly, from ${count(from)} on by a program.`;
  return from <= 1
    ? `${size}: leave it to programs.`
    : `${size}: leave it to programs from ${counted(from, "call")} on.`;
}
