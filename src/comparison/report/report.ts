import { BASELINE, type Comparison, HEADLINE, leading, modeOf, type WireMeasure } from "../comparison.ts";
import { adviceText } from "../accounting/advice.ts";
import { counted } from "../../output/count-text.ts";
import { given } from "../../option-rules/given.ts";

/** All that a bench measured. Written as `report.json`. */
export type BenchReport = ReturnType<typeof reportFrom>;

/** What the figures depend on. */
export interface BenchSettings {
  readonly portcullis: string;
  readonly node: string;
  readonly encoding: string;
  readonly otherEncoding: string;
  readonly envelopeTokens: number;
  readonly atOnce: number;
  readonly cutTokens: number;
  readonly windowTokens: number;
  readonly pricesOf: string;
  readonly pricedAs: string;
}

/** One task with more and more rows. */
export type Sweep = ReturnType<typeof sweepFrom>;

export function reportFrom(
  date: string,
  settings: BenchSettings,
  comparisons: readonly Comparison[],
  sweeps: readonly Sweep[],
) {
  const sorted = comparisons.toSorted((one, other) => rank(one) - rank(other));
  const wires = comparisons[0]?.wires.map(({ wire }) => wire) ?? [];
  return {
    format: 1,
    /** Day of the measurement, like 2026-11-20. */
    date,
    settings,
    /** Losses first: tasks that the program fails, then by ratio on the leading wire, at the end tasks that direct calls fail. */
    comparisons: sorted,
    sweeps,
    summary: wires.map((wire) =>
      summarise(comparisons.flatMap((one) => one.wires.filter((each) => each.wire === wire))),
    ),
    advice: adviceFrom(sorted),
  };
}

function rank(comparison: Comparison): number {
  const measure = leading(comparison.wires);
  const program = modeOf(measure?.modes, HEADLINE);
  const isLost = program !== undefined && (program.answer !== "right" || !program.fits);
  return isLost ? 0 : (measure?.ratio ?? Number.POSITIVE_INFINITY);
}

/** One wire over all tasks, by median and worst ratio of the tasks that have one. A sum over tasks would show the largest task only. */
function summarise(measures: readonly WireMeasure[]) {
  const [{ wire, exact } = { wire: "openai" as const, exact: true }] = measures;
  const ratios = sorted(measures.map(({ ratio }) => ratio));
  const others = sorted(measures.map(({ ratioOther }) => ratioOther));
  const [worst] = ratios;
  return {
    wire,
    exact,
    lost: ratios.filter((ratio) => ratio < 1).length,
    won: ratios.filter((ratio) => ratio >= 1).length,
    withoutRatio: measures.length - ratios.length,
    ...(worst === undefined ? {} : { worst, median: median(ratios), medianOther: median(others) }),
  };
}

function sorted(numbers: readonly (number | undefined)[]): readonly number[] {
  return numbers.filter((one) => one !== undefined).toSorted((one, other) => one - other);
}

export function median(sorted: readonly number[]): number {
  const half = sorted.length >>> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

/** One advice per tool. For a tool in several tasks, the task with the most calls decides, among the tasks that measured the tool. */
function adviceFrom(comparisons: readonly Comparison[]) {
  const measures = comparisons
    .flatMap(({ tools }) => tools)
    .toSorted(
      (one, other) =>
        Number(one.unmeasured !== undefined) - Number(other.unmeasured !== undefined) || other.calls - one.calls,
    );
  return [...new Map(measures.toReversed().map((measure) => [measure.tool, measure])).values()]
    .map(({ tool, calls, resultTokens, programsFrom, unmeasured }) => ({
      tool,
      ...given({ resultTokens, programsFrom }),
      text:
        unmeasured === undefined
          ? adviceText(tool, resultTokens ?? 0, programsFrom)
          : `${unmeasured} The program made ${counted(calls, "call")} of it.`,
    }))
    .toSorted((one, other) => (other.programsFrom ?? Infinity) - (one.programsFrom ?? Infinity));
}

interface SweepRun {
  readonly rows: number;
  readonly comparison: Comparison;
}

export function sweepFrom(task: string, runs: readonly SweepRun[]) {
  const points = runs.toSorted((one, other) => one.rows - other.rows).flatMap(pointOf);
  const done = points.filter(({ right, fits }) => right && fits);
  return {
    task,
    wire: runs[0]?.comparison.wires[0]?.wire ?? "openai",
    points,
    /** Rows from which on programs are cheaper, interpolated between two points; missing if the costs do not cross. */
    ...given({
      breakEven: crossing(done, ({ programmatic }) => programmatic),
      breakEvenWithProbe: crossing(done, ({ withProbe }) => withProbe),
    }),
  };
}

type SweepPoint = ReturnType<typeof pointOf>[number];

/** None if a mode was not measured. */
function pointOf({ rows, comparison }: SweepRun) {
  const [measure] = comparison.wires;
  const direct = modeOf(measure?.modes, BASELINE);
  const programmatic = modeOf(measure?.modes, "programmatic");
  const withProbe = modeOf(measure?.modes, HEADLINE);
  if (!direct || !programmatic || !withProbe) return [];
  const modes = [direct, programmatic, withProbe];
  return [
    {
      rows,
      /** Cached costs, in tokens. */
      direct: direct.cost.cached,
      programmatic: programmatic.cost.cached,
      withProbe: withProbe.cost.cached,
      /** Whether every mode's answer is right. */
      right: modes.every(({ answer }) => answer === "right"),
      calls: comparison.calls,
      fits: modes.every(({ fits }) => fits),
    },
  ];
}

/** Rows from which on direct calls stay dearer, by the points at which both modes did the task. */
function crossing(points: readonly SweepPoint[], programs: (point: SweepPoint) => number): number | undefined {
  const ahead = (point: SweepPoint) => point.direct - programs(point);
  const after = points.findLastIndex((point) => ahead(point) <= 0) + 1;
  const [last, next] = [points[after - 1], points[after]];
  if (!next) return undefined;
  if (!last) return next.rows;
  const part = -ahead(last) / (ahead(next) - ahead(last));
  return last.rows + part * (next.rows - last.rows);
}
