import { compare } from "../../../comparison/compare.ts";
import { leading, type Comparison } from "../../../comparison/measures.ts";
import { WINDOW_TOKENS } from "../../../comparison/numbers.ts";
import {
  type BenchReport,
  reportFrom,
  reportMarkdown,
  reportNotes,
  reportTables,
  type Sweep,
  sweepFrom,
} from "../../../comparison/report.ts";
import type { Approve } from "../../../gate/approve/approval.ts";
import { counted } from "../../../output/count-text.ts";
import { createRuntime } from "../../../runtime.ts";
import type { BENCH, CommandOptions } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { jobsOf } from "../../input/bench-jobs.ts";
import { refuseLater } from "../../input/option-values.ts";
import { version } from "../../package-json.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { createApprover } from "../../terminal/executions/ask-approvals.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { printJson, printTable } from "../../terminal/print.ts";
import { Screen, tellSteps } from "../../terminal/screen.ts";
import { writeStdout, writeStyled } from "../../terminal/standard-streams.ts";
import { openOut, today, writeOut } from "../../write-out.ts";
import { benchLive, readLive } from "./bench-live.ts";

/** Steps of one task, without its sweep: four conversations at most, and four providers. */
const STEPS = 8;

/**
 * `portcullis bench`: measures the tokens that programs save against direct calls, for the package's tasks or the
 * user's own, without a request to a provider. Resolves with the exit code: 1 if an answer is wrong.
 */
export async function bench(names: readonly string[], options: CommandOptions<typeof BENCH>): Promise<number> {
  const { sandbox, language, approve: mode, window: windowTokens = WINDOW_TOKENS.default, out } = options;
  if (language === "python" && sandbox !== "docker")
    throw new Failure(EXIT.usage, "--language python needs --sandbox docker: only containers run Python.");
  // Before the tasks, which need packages.
  const live = options.live ? readLive(options) : undefined;
  const jobs = await jobsOf(names, options);
  refuseLater(mode, false);
  const screen = new Screen();
  using approver = createApprover({ mode, screen });
  const approve = askEachCallOnce(approver.approve);
  if (live) return benchLive(jobs, live, options, { screen, approve });
  if (out !== undefined) openOut(out);
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  const steps = jobs.reduce((sum, { loaded }) => sum + STEPS + loaded.sweep.length, 0);
  const step = tellSteps(steps, screen);
  const comparisons: Comparison[] = [];
  const sweeps: Sweep[] = [];
  try {
    for (const { loaded, tools } of jobs) {
      const { task, sweep } = loaded;
      const limits = { ...loaded.limits, ...options.limit };
      await using runtime = await createRuntime({ tools: await tools(), sandbox, approve, limits });
      const onProgress = (done: string) => step(`${task.name}: ${done}`);
      const measured = await compare(runtime, task, { language, signal, onProgress, windowTokens });
      comparisons.push(measured);
      // The provider of the table, so that a sweep can be compared with it.
      const providers = [leading(measured.providers)!.provider];
      const runs: { rows: number; comparison: Comparison }[] = [];
      for (const { rows, task: one } of sweep) {
        runs.push({ rows, comparison: await compare(runtime, one, { language, signal, providers }) });
        step(`${task.name}: ${counted(rows, "row")}`);
      }
      if (runs.length > 0) sweeps.push(sweepFrom(task.name, runs));
    }
  } catch (error) {
    if (signal.aborted) return cancelling.exitCode;
    throw error;
  }
  const settings = { date: today(), portcullis: version, node: process.versions.node, windowTokens };
  const report = reportFrom(settings, comparisons, sweeps);
  print(report, options);
  return isRight(report) ? EXIT.completed : EXIT.failed;
}

function print(report: BenchReport, { out, json }: CommandOptions<typeof BENCH>): void {
  if (out !== undefined) {
    writeOut(out, "report.json", `${JSON.stringify(report)}\n`);
    writeOut(out, "report.md", reportMarkdown(report));
  }
  if (json) return printJson(report);
  for (const { title, head, rows } of reportTables(report)) {
    writeStyled("bold", `\n${oneLine(title)}\n`);
    const numbers = head.filter((_, column) => rows.every((row) => /^[\d–]/.test(row[column] ?? "")));
    printTable(head, rows, numbers);
  }
  for (const note of reportNotes(report)) writeStdout(`\n${oneLine(note)}\n`);
}

function isRight({ comparisons, sweeps }: BenchReport): boolean {
  const modes = comparisons.flatMap(({ providers }) => providers.flatMap((one) => one.modes));
  return (
    modes.every(({ answer }) => answer === "right") && sweeps.every(({ points }) => points.every(({ right }) => right))
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
