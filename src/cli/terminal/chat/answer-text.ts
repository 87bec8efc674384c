import type { AgentReport } from "../../../agent/agent-report.ts";
import { dollarsOf, PRICES } from "../../../models/prices.ts";
import { count, counted } from "../../../output/count-text.ts";
import { conversationFunnel } from "../../../views/parts/funnel-view.ts";
import { duration, funnelInLine } from "../../../views/words.ts";
import { callsOf, programsOf, workText } from "../executions/turn-counts.ts";

/** The part of a report that its figures come from. */
type Counted = Pick<AgentReport<unknown>, "calls" | "ending" | "transcript">;

/** Number of the turns of which nothing more comes: the last turn goes on if its calls wait. */
export function turnsDone({ ending, transcript: { turns } }: Counted): number {
  return ending.type === "waiting" ? Math.max(0, turns.length - 1) : turns.length;
}

/** What one message has taken, after the turns that were done before it: the funnel, turns, programs, calls, tokens and time. */
export function answerFacts({ calls, transcript }: Counted, doneBefore: number, ms: number): string {
  const turns = transcript.turns.slice(doneBefore);
  const own = callsOf(turns, calls);
  const results = turns.flatMap((turn) => turn.results);
  const sum = (name: "inputTokens" | "outputTokens") => turns.reduce((all, { turn }) => all + turn.usage[name], 0);
  const facts = [
    workText(turns.length, programsOf(turns), own.length),
    `${counted(sum("inputTokens"), "token")} in, ${count(sum("outputTokens"))} out`,
    duration(ms),
  ];
  const funnel = results.length === 0 ? [] : [funnelInLine(conversationFunnel(own, results))];
  return [...funnel, facts.join(", ")].join("\n");
}

/** What a conversation has taken so far, and what its tokens cost at most. `model` is its whole name. */
export function costText({ calls, usage, transcript }: AgentReport<unknown>, model: string): string {
  const { turns, inputTokens, outputTokens, cachedInputTokens } = usage;
  // The turns of a conversation that this one continues were counted there.
  const own = transcript.turns.slice(transcript.turns.length - turns);
  const results = own.flatMap((turn) => turn.results);
  const name = model.slice(model.indexOf(":") + 1);
  const price = Object.hasOwn(PRICES.models, name) ? PRICES.models[name] : undefined;
  const cached = cachedInputTokens > 0 ? ` (${count(cachedInputTokens)} of them from a cache)` : "";
  return [
    ...(results.length === 0 ? [] : [funnelInLine(conversationFunnel(calls, results))]),
    `${workText(turns, programsOf(own), usage.calls)}, ${counted(inputTokens, "token")} in${cached}, ${count(outputTokens)} out`,
    price === undefined
      ? `What they cost is not known: the table of ${PRICES.date} has no price of ${model}.`
      : `They cost at most $${dollarsOf(usage, price).toFixed(4)} at the list prices of ${PRICES.date}.`,
  ].join("\n");
}
