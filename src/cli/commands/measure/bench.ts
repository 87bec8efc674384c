import { writeStdout, writeStyled } from "../../terminal/standard-streams.ts";
import { AT_ONCE, CUT_TOKENS, WINDOW_TOKENS } from "../../../comparison/compare-numbers.ts";
import type { CompareOptions } from "../../../comparison/compare-options.ts";
import { compare } from "../../../comparison/compare.ts";
import { leading, type Comparison } from "../../../comparison/comparison.ts";
import { ENVELOPE_TOKENS } from "../../../comparison/accounting/count-exchange.ts";
import { readPriceFile } from "../../input/option-files.ts";
import { PRICES, REFERENCE_PRICE } from "../../../models/prices.ts";
import { reportFrom, sweepFrom, type BenchReport, type Sweep } from "../../../comparison/report/report.ts";
import { reportMarkdown } from "../../../comparison/report/report-tables.ts";
import { reportNotes, reportTables } from "../../../comparison/report/report-tables.ts";
import { counted } from "../../../output/count-text.ts";
import { createRuntime } from "../../../runtime.ts";
import { createApprover } from "../../terminal/executions/ask-approvals.ts";
import { Screen, tellSteps } from "../../terminal/screen.ts";
import { refuseLater } from "../../input/option-values.ts";
import { jobsOf } from "../../input/bench-jobs.ts";
import { benchLive, readLiveModel } from "./bench-live.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import type { CommandOptions, BENCH } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { printJson, printTable } from "../../terminal/print.ts";
import type { LoadedTask } from "../../input/task-file.ts";
import { version } from "../../package-json.ts";
import { openOut, today, writeOut } from "../../write-out.ts";
import { oneLine } from "../../terminal/one-line.ts";
import type { Approve } from "../../../gate/approve/approval.ts";

/** Steps of one task: four conversations, one more with a best tool, four providers, and the sweep. */
function stepsOf({ task, sweep }: LoadedTask): number {
  return 8 + (task.best === undefined ? 0 : 1) + sweep.length;
}

/**
 * `portcullis bench`: measures the tokens that programs save against direct calls, for the package's tasks or the
 * user's own, without a request to a provider. Resolves with the exit code: 1 if an answer is wrong that should be
 * right.
 */
export async function bench(names: readonly string[], options: CommandOptions<typeof BENCH>): Promise<number> {
  const { sandbox, language, approve: mode } = options;
  if (language === "python" && sandbox !== "docker")
    throw new Failure(EXIT.usage, "--language python needs --sandbox docker: only containers run Python.");
  const settings = settingsOf(options);
  // Before the tasks, which need packages.
  if (options.live) readLiveModel(options);
  const jobs = await jobsOf(names, options);
  refuseLater(mode, false);
  const screen = new Screen();
  using approver = createApprover({ mode, screen });
  const approve = askEachCallOnce(approver.approve);
  if (options.live) return benchLive(jobs, settings.compare.prices, options, { screen, approve });
  if (options.out !== undefined) openOut(options.out);
  using cancelling = cancelOnSignal();
  const steps = jobs.reduce((sum, { loaded }) => sum + stepsOf(loaded), 0);
  const step = tellSteps(steps, screen);
  const comparisons: Comparison[] = [];
  const sweeps: Sweep[] = [];
  try {
    for (const { loaded, tools } of jobs) {
      const { task, sweep } = loaded;
      const limits = { ...loaded.limits, ...options.limit };
      await using runtime = await createRuntime({ tools: await tools(), sandbox, approve, limits });
      const compareOptions = { ...settings.compare, language, signal: cancelling.signal };
      const onProgress = (done: string) => step(`${task.name}: ${done}`);
      comparisons.push(await compare(runtime, task, { ...compareOptions, onProgress }));
      const runs: { rows: number; comparison: Comparison }[] = [];
      for (const one of sweep) {
        runs.push({
          rows: one.rows,
          comparison: await compare(runtime, one.task, { ...compareOptions, ...shown(comparisons) }),
        });
        step(`${task.name}: ${counted(one.rows, "row")}`);
      }
      if (runs.length > 0) sweeps.push(sweepFrom(task.name, runs));
    }
  } catch (error) {
    if (cancelling.signal.aborted) return cancelling.exitCode;
    throw error;
  }
  const report = reportFrom(today(), settings.report, comparisons, sweeps);
  print(report, options);
  return isRight(report) ? EXIT.completed : EXIT.failed;
}

/** The wire of the first tables, so that a sweep can be compared with them. */
function shown(comparisons: readonly Comparison[]): Pick<CompareOptions, "wires"> {
  const wire = leading(comparisons.at(-1)?.wires ?? [])?.wire;
  return wire === undefined ? {} : { wires: [wire] };
}

function settingsOf(options: CommandOptions<typeof BENCH>) {
  const { prices, pricedAs = REFERENCE_PRICE } = options;
  const priceTable = prices === undefined ? PRICES : readPriceFile("--prices", prices);
  const { window: windowTokens = WINDOW_TOKENS.default, cut: cutTokens = CUT_TOKENS.default } = options;
  const { atOnce = AT_ONCE.default } = options;
  const sizes = { atOnce, cutTokens, windowTokens };
  return {
    compare: { ...sizes, prices: priceTable, pricedAs },
    report: {
      portcullis: version,
      node: process.versions.node,
      encoding: "o200k_base",
      otherEncoding: "cl100k_base",
      envelopeTokens: ENVELOPE_TOKENS,
      ...sizes,
      pricesOf: priceTable.date,
      pricedAs,
    },
  };
}

function print(report: BenchReport, { out, json }: CommandOptions<typeof BENCH>): void {
  if (out !== undefined) {
    writeOut(out, "report.json", `${JSON.stringify(report)}\n`);
    writeOut(out, "report.md", reportMarkdown(report));
  }
  if (json) {
    printJson(report);
    return;
  }
  for (const { title, head, rows } of reportTables(report)) {
    writeStyled("bold", `\n${oneLine(title)}\n`);
    printTable(
      head,
      rows,
      head.filter((_, column) => isNumeric(rows, column)),
    );
  }
  for (const note of reportNotes(report)) writeStdout(`\n${oneLine(note)}\n`);
}

/** Whether the column holds numbers, which are aligned at the right. */
function isNumeric(rows: readonly (readonly string[])[], column: number): boolean {
  return rows.every((row) => /^[\d–]/.test(row[column] ?? ""));
}

/** Whether all answers are right. `direct-truncated` does not count: it shows that cut results lead to wrong answers. */
function isRight({ comparisons, sweeps }: BenchReport): boolean {
  const measures = comparisons.flatMap(({ wires }) => wires.flatMap(({ modes }) => modes));
  return (
    measures.every(({ mode, answer }) => mode === "direct-truncated" || answer !== "wrong") &&
    sweeps.every(({ points }) => points.every(({ right }) => right))
  );
}

/**
 * Asks once about each call: a later call of the same tool with the same input gets the same decision. For measurements,
 * which make every call several times.
 */
export function askEachCallOnce(approve: Approve): Approve {
  const decisions = new Map<string, ReturnType<Approve>>();
  return async (request) => {
    const key = `${request.tool} ${request.inputDigest}`;
    const known = decisions.get(key);
    if (known !== undefined) return known;
    const asked = approve(request);
    decisions.set(key, asked);
    const decision = await asked;
    // A question that was withdrawn has no answer.
    if (request.signal.aborted) decisions.delete(key);
    return decision;
  };
}
