import type { Cost } from "../accounting/accounting.ts";
import {
  BASELINE,
  type Comparison,
  HEADLINE,
  leading,
  type Mode,
  type ModeMeasure,
  modeOf,
  MODES,
  type WireMeasure,
} from "../comparison.ts";
import { count, counted } from "../../output/count-text.ts";
import type { BenchReport, Sweep } from "./report.ts";
import type { WireName } from "../wires/wire.ts";

/** A table for a terminal or a document. */
export interface ReportTable {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function reportTables(report: BenchReport): readonly ReportTable[] {
  const [first] = report.comparisons;
  const wire = first && leading(first.wires)?.wire;
  return [
    ...(wire === undefined
      ? []
      : [tokensTable(report, wire), modesTable(report, wire, "cached"), modesTable(report, wire, "uncached")]),
    ...(report.summary.length > 1 ? [wiresTable(report)] : []),
    ...report.sweeps.map(sweepTable),
    ...(report.advice.length > 0 ? [adviceTable(report)] : []),
  ];
}

/** The notes of all comparisons, each once. */
export function reportNotes({ comparisons }: BenchReport): readonly string[] {
  const notes = Map.groupBy(
    comparisons.flatMap(({ task, notes: own }) => own.map((note) => ({ task, note }))),
    ({ note }) => note,
  );
  return [...notes].map(([note, of]) =>
    of.length > 1 && of.length === comparisons.length ? note : `${of.map(({ task }) => task).join(", ")}: ${note}`,
  );
}

/** Tokens of definitions, which tool search could save, apart from tokens of results, which programs save. */
function tokensTable({ comparisons, settings }: BenchReport, wire: WireName): ReportTable {
  return {
    title: `Tokens through the model, losses first (${wire}, ${settings.encoding}; definitions are instructions and tools, results what calls gave back, each over all turns)`,
    head: [
      "task",
      "calls",
      "bytes fetched",
      "bytes to model",
      "direct: turns",
      "definitions",
      "results",
      "input",
      "peak",
      "program: turns",
      "definitions",
      "results",
      "input",
      "output",
      "gain",
    ],
    rows: comparisons.map((comparison) => {
      const measure = on(comparison, wire);
      const direct = modeOf(measure?.modes, BASELINE)?.spent;
      const program = modeOf(measure?.modes, HEADLINE)?.spent;
      return [
        comparison.task,
        number(comparison.calls),
        number(comparison.resultBytes),
        number(comparison.outputBytes),
        ...[direct?.turns, direct?.definitions, direct?.results, direct?.input, direct?.peak].map(number),
        ...[program?.turns, program?.definitions, program?.results, program?.input, program?.output].map(number),
        gainText(measure),
      ];
    }),
  };
}

function modesTable({ comparisons, settings }: BenchReport, wire: WireName, kind: keyof Cost): ReportTable {
  const modes = Object.keys(MODES) as Mode[];
  const caching = kind === "cached" ? "with a cache: its prefix read at its price" : "without a cache";
  return {
    title: `Cost of every mode ${caching}, in tokens of uncached input (${wire}; output weighted; priced as ${settings.pricedAs}, prices of ${settings.pricesOf})`,
    head: ["task", ...modes],
    rows: comparisons.map((comparison) => [
      comparison.task,
      ...modes.map((mode) => costText(modeOf(on(comparison, wire)?.modes, mode), kind)),
    ]),
  };
}

function wiresTable({ summary, settings }: BenchReport): ReportTable {
  return {
    title: `Gain of ${HEADLINE} over ${BASELINE}, by provider: cached cost of the one divided by that of the other`,
    head: ["provider", "median", "worst", `median in ${settings.otherEncoding}`, "lost", "won", "no ratio", "tokens"],
    rows: summary.map(({ wire, exact, median, worst, medianOther, lost, won, withoutRatio }) => [
      wire,
      times(median),
      times(worst),
      times(medianOther),
      number(lost),
      number(won),
      number(withoutRatio),
      exact ? "exact" : "estimate",
    ]),
  };
}

function sweepTable({ task, wire, points, breakEven, breakEvenWithProbe }: Sweep): ReportTable {
  const rowsText = (rows: number | undefined) =>
    rows === undefined ? "nowhere in this range" : counted(Math.round(rows), "row");
  return {
    title: `Break-even of ${task} (${wire}, cached cost): programs are cheaper from ${rowsText(breakEven)} on, with a probing turn from ${rowsText(breakEvenWithProbe)} on`,
    head: ["rows", "calls", BASELINE, "programmatic", HEADLINE, "answers"],
    rows: points.map(({ rows, calls, direct, programmatic, withProbe, right, fits }) => [
      number(rows),
      number(calls),
      fits ? number(direct) : "does not fit",
      number(programmatic),
      number(withProbe),
      right ? "right" : "WRONG",
    ]),
  };
}

function adviceTable({ advice }: BenchReport): ReportTable {
  return {
    title: "Which tools are better called directly, by what they returned here",
    head: ["tool", "advice"],
    rows: advice.map(({ tool, text }) => [tool, text]),
  };
}

function on({ wires }: Comparison, wire: WireName): WireMeasure | undefined {
  return wires.find((one) => one.wire === wire);
}

function gainText(measure: WireMeasure | undefined): string {
  if (measure?.ratio === undefined) return measure?.noRatio ?? "–";
  return measure.ratio < 1 ? `${times(measure.ratio)} (direct wins)` : times(measure.ratio);
}

function costText(measure: ModeMeasure | undefined, kind: keyof Cost): string {
  if (!measure) return "–";
  if (!measure.fits) return "does not fit";
  return `${number(measure.cost[kind])}${measure.answer === "right" ? "" : ` (${measure.answer})`}`;
}

function number(value: number | undefined): string {
  return value === undefined ? "–" : count(Math.round(value));
}

function times(ratio: number | undefined): string {
  if (ratio === undefined) return "–";
  return `${ratio >= 100 ? count(Math.round(ratio)) : ratio.toPrecision(2)}×`;
}

/** The report as a document. */
export function reportMarkdown(report: BenchReport): string {
  const { date, settings } = report;
  const notes = reportNotes(report);
  return [
    "# What programs save against direct calls",
    `${date}, portcullis ${settings.portcullis}, node ${settings.node}. Given the same tools, data and right calls, this many tokens pass through the model. It does not measure what a model would choose to do, or get right: no model was called. All programs were run, all calls were made, and every answer was checked.`,
    `Settings: ${counted(settings.atOnce, "call")} at once, results cut at ${counted(settings.cutTokens, "token")} if they are cut, a window of ${counted(settings.windowTokens, "token")}, ${settings.envelopeTokens} tokens round each call and result, no reasoning tokens; priced as ${settings.pricedAs} (prices of ${settings.pricesOf}).`,
    ...reportTables(report).map((table) => `## ${table.title}\n\n${markdownTable(table)}`),
    `## Modes\n\n${markdownTable({ title: "", head: ["mode", "what it is"], rows: Object.entries(MODES) })}`,
    ...(notes.length > 0 ? [`## Notes\n\n${notes.map((note) => `- ${note}`).join("\n")}`] : []),
  ]
    .join("\n\n")
    .concat("\n");
}

function markdownTable({ head, rows }: ReportTable): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
