import { count } from "../base/index.ts";
import { BASELINE, type Comparison, HEADLINE, measureOf, type ProviderMeasure } from "./compare.ts";
import type { Mode } from "./conversations.ts";

/** All that a bench measured. */
export interface BenchReport {
  readonly format: 3;
  /** Day of the measurement, like 2026-11-20. */
  readonly date: string;
  readonly portcullis: string;
  readonly node: string;
  /** Losses first: tasks that the program fails, then by ratio at the leading provider, at the end tasks that direct calls fail. */
  readonly comparisons: readonly Comparison[];
}

export function lossesFirst(comparisons: readonly Comparison[]): readonly Comparison[] {
  const rank = ({ providers }: Comparison) => {
    const measure = leading(providers);
    const { answer, fits } = measureOf(measure?.modes, HEADLINE) ?? {};
    return answer === "wrong" || fits === false ? 0 : (measure?.ratio ?? Number.POSITIVE_INFINITY);
  };
  return comparisons.toSorted((one, other) => rank(one) - rank(other));
}

/** The provider to show if only one is shown: the first whose tokens are not estimates. */
export function leading(measures: readonly ProviderMeasure[]): ProviderMeasure | undefined {
  return measures.find(({ exact }) => exact) ?? measures[0];
}

const MODES: readonly Mode[] = [BASELINE, "programmatic", HEADLINE];

/** The table of a report. Columns are numbers but for the first and the last. */
export function reportTable(comparisons: readonly Comparison[]) {
  const rows = comparisons.map(({ task, calls, resultBytes, outputBytes, providers }) => {
    const { modes, ratio, noRatio = "–" } = leading(providers)!;
    const contexts = ([BASELINE, HEADLINE] as const).map((mode) => measureOf(modes, mode)?.spent.peak);
    const costs = MODES.map((mode) => {
      const { cost, answer, fits } = measureOf(modes, mode) ?? {};
      return fits === false ? "does not fit" : `${number(cost)}${answer === "wrong" ? " (wrong)" : ""}`;
    });
    const times = ratio === undefined ? noRatio : `${ratio < 100 ? ratio.toPrecision(2) : number(ratio)}×`;
    const gain = ratio !== undefined && ratio < 1 ? `${times} (direct wins)` : times;
    return [task, ...[calls, resultBytes, outputBytes, ...contexts].map(number), ...costs, gain];
  });
  const facts = ["task", "calls", "bytes fetched", "bytes to model", "context, direct", "context, program"];
  return { head: [...facts, ...MODES.map((mode) => `cost, ${mode}`), "gain"], rows };
}

function number(value: number | undefined): string {
  return value === undefined ? "–" : count(Math.round(value));
}

/** The notes of all comparisons, each once. */
export function reportNotes(comparisons: readonly Comparison[]): readonly string[] {
  const all = comparisons.flatMap(({ task, notes }) => notes.map((note) => ({ task, note })));
  return [...Map.groupBy(all, ({ note }) => note)].map(([note, of]) =>
    of.length > 1 && of.length === comparisons.length ? note : `${of.map(({ task }) => task).join(", ")}: ${note}`,
  );
}
