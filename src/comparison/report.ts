import { given } from "../option-rules/given.ts";
import { count, counted } from "../output/count-text.ts";
import { CALLS_AT_ONCE } from "./conversations.ts";
import { BASELINE, type Comparison, HEADLINE, leading, measureOf, type Mode, MODES } from "./measures.ts";
import { ENVELOPE_TOKENS } from "./tokens.ts";

/** All that a bench measured. Written as `report.json`. */
export interface BenchReport {
  readonly format: 2;
  /** What the figures depend on. */
  readonly settings: {
    /** Day of the measurement, like 2026-11-20. */
    readonly date: string;
    readonly portcullis: string;
    readonly node: string;
    readonly windowTokens: number;
  };
  /** Losses first: tasks that the program fails, then by ratio at the leading provider, at the end tasks that direct calls fail. */
  readonly comparisons: readonly Comparison[];
  readonly sweeps: readonly Sweep[];
}

/** One task with more and more rows. */
export type Sweep = ReturnType<typeof sweepFrom>;

export function reportFrom(
  settings: BenchReport["settings"],
  comparisons: readonly Comparison[],
  sweeps: readonly Sweep[],
): BenchReport {
  const rank = ({ providers }: Comparison) => {
    const measure = leading(providers);
    const { answer, fits } = measureOf(measure?.modes, HEADLINE) ?? {};
    return answer === "wrong" || fits === false ? 0 : (measure?.ratio ?? Number.POSITIVE_INFINITY);
  };
  const sorted = comparisons.toSorted((one, other) => rank(one) - rank(other));
  return { format: 2, settings, comparisons: sorted, sweeps };
}

export function sweepFrom(task: string, runs: readonly { readonly rows: number; readonly comparison: Comparison }[]) {
  const points = runs.flatMap(({ rows, comparison: { providers, calls } }) => {
    const find = (mode: Mode) => measureOf(providers[0]?.modes, mode);
    const [direct, programmatic, withProbe] = [find(BASELINE), find("programmatic"), find(HEADLINE)];
    if (!direct || !programmatic || !withProbe) return [];
    const right = [direct, programmatic, withProbe].every(({ answer }) => answer === "right");
    return { rows, calls, direct: direct.cost, programmatic: programmatic.cost, withProbe: withProbe.cost, right };
  });
  const provider = runs[0]?.comparison.providers[0]?.provider;
  const breakEven = crossing(points, ({ programmatic }) => programmatic);
  const breakEvenWithProbe = crossing(points, ({ withProbe }) => withProbe);
  return { task, provider, points, ...given({ breakEven, breakEvenWithProbe }) };
}

interface SweepPoint {
  readonly rows: number;
  readonly direct: number;
  readonly programmatic: number;
  readonly withProbe: number;
  readonly right: boolean;
}

/** Rows from which on direct calls stay dearer, interpolated between two points; undefined if the costs do not cross. */
function crossing(points: readonly SweepPoint[], programs: (point: SweepPoint) => number): number | undefined {
  const done = points.filter(({ right }) => right).toSorted((one, other) => one.rows - other.rows);
  const ahead = (point: SweepPoint) => point.direct - programs(point);
  const after = done.findLastIndex((point) => ahead(point) <= 0) + 1;
  const [last, next] = [done[after - 1], done[after]];
  if (!last || !next) return next?.rows;
  return last.rows + (-ahead(last) / (ahead(next) - ahead(last))) * (next.rows - last.rows);
}

const FACTS = ["task", "calls", "bytes fetched", "bytes to model", "context, direct", "context, program"];

/** The tables of a report, for a terminal or a document. */
export function reportTables({ comparisons, sweeps }: BenchReport) {
  const shown = leading(comparisons[0]?.providers ?? [])?.provider;
  const modes = Object.keys(MODES) as Mode[];
  const from = (rows?: number) => (rows === undefined ? "nowhere here" : `from ${counted(Math.round(rows), "row")} on`);
  const tasks = comparisons.map(({ task, calls, resultBytes, outputBytes, providers: all }) => {
    const { modes: own, ratio, noRatio = "–" } = all.find(({ provider }) => provider === shown)!;
    const contexts = ([BASELINE, HEADLINE] as const).map((mode) => measureOf(own, mode)?.spent.peak);
    const costs = modes.map((mode) => {
      const { cost, answer, fits } = measureOf(own, mode) ?? {};
      return fits === false ? "does not fit" : `${number(cost)}${answer === "wrong" ? " (wrong)" : ""}`;
    });
    const times = ratio === undefined ? noRatio : `${ratio < 100 ? ratio.toPrecision(2) : number(ratio)}×`;
    const gain = ratio !== undefined && ratio < 1 ? `${times} (direct wins)` : times;
    return [task, ...[calls, resultBytes, outputBytes, ...contexts].map(number), ...costs, gain];
  });
  return [
    {
      title: `Tokens through the model, losses first (${shown}; costs in tokens of uncached input)`,
      head: [...FACTS, ...modes.map((mode) => `cost, ${mode}`), "gain"],
      rows: tasks,
    },
    ...sweeps.map(({ task, provider, points, breakEven, breakEvenWithProbe }) => ({
      title: `Break-even of ${task} (${provider}): programs are cheaper ${from(breakEven)}, with a probing turn ${from(breakEvenWithProbe)}`,
      head: ["rows", "calls", BASELINE, "programmatic", HEADLINE, "answers"],
      rows: points.map(({ rows, calls, direct, programmatic, withProbe, right }) => [
        ...[rows, calls, direct, programmatic, withProbe].map(number),
        right ? "right" : "WRONG",
      ]),
    })),
  ];
}

function number(value: number | undefined): string {
  return value === undefined ? "–" : count(Math.round(value));
}

/** The notes of all comparisons, each once. */
export function reportNotes({ comparisons }: BenchReport): readonly string[] {
  const all = comparisons.flatMap(({ task, notes }) => notes.map((note) => ({ task, note })));
  return [...Map.groupBy(all, ({ note }) => note)].map(([note, of]) =>
    of.length > 1 && of.length === comparisons.length ? note : `${of.map(({ task }) => task).join(", ")}: ${note}`,
  );
}

/** The report as a document. */
export function reportMarkdown(report: BenchReport): string {
  const { date, portcullis, node, windowTokens } = report.settings;
  const modes = { title: "Modes", head: ["mode", "what it is"], rows: Object.entries(MODES) };
  const parts = [
    "# What programs save against direct calls",
    `${date}, portcullis ${portcullis}, node ${node}. Given the same tools, data and right calls, this many tokens pass through the model. It does not measure what a model would choose to do, or get right: no model was called. All programs were run, all calls were made, and every answer was checked.`,
    `Settings: o200k_base, ${CALLS_AT_ONCE} calls at once, a window of ${counted(windowTokens, "token")}, ${ENVELOPE_TOKENS} tokens round each call and result, no reasoning tokens. In costs, a token that a cache gives counts 0.1, one written to it 1.25, and one of output 5.`,
    ...[...reportTables(report), modes].map((table) => `## ${table.title}\n\n${markdownTable(table)}`),
    "## Notes",
    ...reportNotes(report).map((note) => `- ${note}`),
  ];
  return `${parts.join("\n\n")}\n`;
}

function markdownTable({ head, rows }: Pick<ReturnType<typeof reportTables>[number], "head" | "rows">): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
