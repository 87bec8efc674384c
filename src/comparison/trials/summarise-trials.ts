import { sum } from "../accounting/count-exchange.ts";
import { median } from "../report/report.ts";
import type { Trial } from "./trial.ts";

/** One summary for each task in each mode. */
export function summariseTrials(trials: readonly Trial[]) {
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
        /** Tokens read and written by all trials that are not void, per right answer. Undefined if no answer was right. */
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

function spread(numbers: readonly number[]) {
  const sorted = numbers.toSorted((one, other) => one - other);
  return { median: median(sorted), min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}
