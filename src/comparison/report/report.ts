import { BASELINE, type Comparison, HEADLINE, leading, modeOf, type WireMeasure } from "../comparison.ts";
import { adviceText } from "../accounting/advice.ts";
import { given } from "../../option-rules/given.ts";
import type { WireName } from "../wires/wire.ts";

/** All that a bench measured. Written as `report.json`. */
export interface BenchReport {
  readonly format: 1;
  /** Day of the measurement, like 2026-11-20. */
  readonly date: string;
  readonly settings: BenchSettings;
  /** Losses first: tasks that the program fails, then by ratio on the leading wire, at the end tasks that direct calls fail. */
  readonly comparisons: readonly Comparison[];
  readonly sweeps: readonly Sweep[];
  readonly summary: readonly WireSummary[];
  readonly advice: readonly ToolAdvice[];
}

/** What the figures depend on. */
export interface BenchSettings {
  readonly portcullis: string;
  readonly node: string;
  /** Packages that the open tasks read, like `world-countries@5.1.0`. */
  readonly data: readonly string[];
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
export interface Sweep {
  readonly task: string;
  readonly wire: WireName;
  readonly points: readonly SweepPoint[];
  /** Rows from which on programs are cheaper, interpolated between two points; undefined if the costs do not cross. */
  readonly breakEven?: number;
  readonly breakEvenWithProbe?: number;
}

/** Cached costs, in tokens. */
export interface SweepPoint {
  readonly rows: number;
  readonly direct: number;
  readonly programmatic: number;
  readonly withProbe: number;
  /** Whether every mode's answer is right. */
  readonly right: boolean;
  readonly calls: number;
  readonly fits: boolean;
}

/** One wire over all tasks, by median and worst ratio. A sum over tasks would show the largest task only. */
export interface WireSummary {
  readonly wire: WireName;
  readonly exact: boolean;
  /** Of the tasks that have a ratio. */
  readonly median?: number;
  readonly worst?: number;
  /** Median in the report's second encoding. */
  readonly medianOther?: number;
  readonly lost: number;
  readonly won: number;
  readonly withoutRatio: number;
}

export interface ToolAdvice {
  readonly tool: string;
  /** Tokens of one result, the median; undefined if no task measured the tool. */
  readonly resultTokens?: number;
  /** Calls from which on programs are cheaper; undefined if they never are. */
  readonly programsFrom?: number;
  readonly text: string;
}

export function reportFrom(
  date: string,
  settings: BenchSettings,
  comparisons: readonly Comparison[],
  sweeps: readonly Sweep[],
): BenchReport {
  const sorted = comparisons.toSorted((one, other) => rank(one) - rank(other));
  const wires = comparisons[0]?.wires.map(({ wire }) => wire) ?? [];
  return {
    format: 1,
    date,
    settings,
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

function summarise(measures: readonly WireMeasure[]): WireSummary {
  const [{ wire, exact } = { wire: "openai" as const, exact: true }] = measures;
  const ratios = sorted(measures.map(({ ratio }) => ratio));
  const others = sorted(measures.map(({ ratioOther }) => ratioOther));
  const counts = {
    lost: ratios.filter((ratio) => ratio < 1).length,
    won: ratios.filter((ratio) => ratio >= 1).length,
    withoutRatio: measures.length - ratios.length,
  };
  const [worst] = ratios;
  return {
    wire,
    exact,
    ...counts,
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
function adviceFrom(comparisons: readonly Comparison[]): readonly ToolAdvice[] {
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
          : `${unmeasured} The program made ${calls.toLocaleString("en-US")} ${calls === 1 ? "call" : "calls"} of it.`,
    }))
    .toSorted((one, other) => (other.programsFrom ?? Infinity) - (one.programsFrom ?? Infinity));
}

export function sweepFrom(
  task: string,
  runs: readonly { readonly rows: number; readonly comparison: Comparison }[],
): Sweep {
  const inOrder = runs.toSorted((one, other) => one.rows - other.rows);
  const points = inOrder.flatMap(({ rows, comparison }) => {
    const [measure] = comparison.wires;
    const direct = modeOf(measure?.modes, BASELINE);
    const programmatic = modeOf(measure?.modes, "programmatic");
    const withProbe = modeOf(measure?.modes, HEADLINE);
    if (!direct || !programmatic || !withProbe) return [];
    const modes = [direct, programmatic, withProbe];
    return [
      {
        rows,
        direct: direct.cost.cached,
        programmatic: programmatic.cost.cached,
        withProbe: withProbe.cost.cached,
        right: modes.every(({ answer }) => answer === "right"),
        calls: comparison.calls,
        fits: modes.every(({ fits }) => fits),
      },
    ];
  });
  const done = points.filter(({ right, fits }) => right && fits);
  return {
    task,
    wire: runs[0]?.comparison.wires[0]?.wire ?? "openai",
    points,
    ...given({
      breakEven: crossing(done, ({ programmatic }) => programmatic),
      breakEvenWithProbe: crossing(done, ({ withProbe }) => withProbe),
    }),
  };
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
