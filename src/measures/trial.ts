import { isDeepStrictEqual } from "node:util";
import type { ModelUsage } from "../models/model.ts";
import { sum } from "./exchange.ts";
import type { Price } from "./prices.ts";
import { median } from "./report.ts";

/** The two ways in which a real model is given a task. */
export type TrialMode = "direct" | "programmatic";
export const TRIAL_MODES: readonly TrialMode[] = ["direct", "programmatic"];

/** One conversation with a real model. */
export interface Trial {
  readonly task: string;
  readonly mode: TrialMode;
  /** How the conversation ended. */
  readonly ending: string;
  readonly answer: string | undefined;
  readonly right: boolean;
  /** Why it says nothing of its mode; a trial that is void is in no figure. */
  readonly void?: string;
  readonly turns: number;
  readonly calls: number;
  readonly ms: number;
  /** As the provider counts. */
  readonly usage: ModelUsage;
  /** As the provider said it, turn by turn. */
  readonly rawUsage: readonly unknown[];
  /** At most, for a cache's prices are not told apart. */
  readonly usd: number;
  /** What the offline accounting makes of the same conversation; nothing where the provider has counted nothing. */
  readonly offline?: OfflineCheck;
}

export interface OfflineCheck {
  readonly inputTokens: number;
  /** Of what the provider counted, as a part of it: 0.05 is 5 % more. */
  readonly deviation: number;
  readonly exact: boolean;
  readonly agrees: boolean;
}

/** Most by which the offline accounting may differ from the provider's count, where the encoding is known. */
export const AGREEMENT = 0.1;

/** Trials of one task in one mode. */
export interface TrialSummary {
  readonly task: string;
  readonly mode: TrialMode;
  readonly trials: number;
  readonly void: number;
  readonly right: number;
  /** Tokens read and written by all trials that count, for each right answer. None where no answer was right. */
  readonly tokensPerRightAnswer?: number;
  readonly tokens: Spread;
  readonly turns: Spread;
  readonly ms: Spread;
  readonly usd: number;
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function summariseTrials(trials: readonly Trial[]): readonly TrialSummary[] {
  const groups = Map.groupBy(trials, ({ task, mode }) => `${task} ${mode}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const valid = group.filter((trial) => trial.void === undefined);
    const right = valid.filter((trial) => trial.right).length;
    const all = sum(valid.map(tokensOf));
    return [
      {
        task: first.task,
        mode: first.mode,
        trials: group.length,
        void: group.length - valid.length,
        right,
        ...(right === 0 ? {} : { tokensPerRightAnswer: all / right }),
        tokens: spread(valid.map(tokensOf)),
        turns: spread(valid.map(({ turns }) => turns)),
        ms: spread(valid.map(({ ms }) => ms)),
        usd: sum(group.map(({ usd }) => usd)),
      },
    ];
  });
}

function tokensOf({ usage }: Trial): number {
  return usage.inputTokens + usage.outputTokens;
}

function spread(numbers: readonly number[]): Spread {
  const sorted = numbers.toSorted((one, other) => one - other);
  return { median: median(sorted), least: sorted[0] ?? Number.NaN, most: sorted.at(-1) ?? Number.NaN };
}

/** Whether the model's words hold the right answer: JSON alone, or in a block of its own. */
export function isRightAnswer(words: string, answer: unknown): boolean {
  return [words, ...blocksOf(words)].some((text) => {
    try {
      return isDeepStrictEqual(JSON.parse(text), answer);
    } catch {
      return false;
    }
  });
}

/** What stands between fences, behind the line of the first. */
function blocksOf(words: string): readonly string[] {
  const parts = words.split("```");
  const blocks: string[] = [];
  // The last part has no fence behind it.
  for (let index = 1; index < parts.length - 1; index += 1) {
    const [opening] = /^(?:json)?\s*\n/.exec(parts[index] ?? "") ?? [];
    if (opening === undefined) continue;
    blocks.push((parts[index] ?? "").slice(opening.length));
    // Its second fence opens nothing.
    index += 1;
  }
  return blocks;
}

/** Dollars, at most: what was not read from a cache is taken as written to one, where that is dearer. */
export function dollarsOf({ inputTokens, outputTokens, cachedInputTokens }: ModelUsage, price: Price): number {
  const fresh = (inputTokens - cachedInputTokens) * Math.max(price.input, price.cacheWrite);
  return (fresh + cachedInputTokens * price.cacheRead + outputTokens * price.output) / 1_000_000;
}
