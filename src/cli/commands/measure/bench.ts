import { now } from "../../../base/index.ts";
import { compare, type Comparison } from "../../../comparison/compare.ts";
import { type BenchReport, lossesFirst, reportNotes, reportTable } from "../../../comparison/report.ts";
import { createRuntime } from "../../../runtime/create-runtime.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { BENCH, CommandOptions } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { EXAMPLES, exampleFile, exampleTools, requireData, TASKS } from "../../input/examples.ts";
import { loadTools } from "../../input/load-module.ts";
import { word } from "../../input/option-values.ts";
import { loadTask, type LoadedTask } from "../../input/task-file.ts";
import { version } from "../../package-json.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { printJson, printTable } from "../../terminal/print.ts";
import { tellWork, writeStdout } from "../../terminal/standard-streams.ts";
import { benchLive, readLive } from "./bench-live.ts";

/**
 * `portcullis bench`: measures the tokens that programs save against direct calls, for the package's tasks or the
 * user's own, without a request to a provider. Resolves with the exit code: 1 if an answer is wrong.
 */
export async function bench(names: readonly string[], options: CommandOptions<typeof BENCH>): Promise<number> {
  const { sandbox, json } = options;
  // Before the tasks, which need packages.
  const live = options.live ? readLive(options) : undefined;
  const jobs = await jobsOf(names, options);
  if (live) return benchLive(jobs, live, options);
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  const measured: Comparison[] = [];
  try {
    for (const job of jobs) {
      tellWork(`Measuring ${job.task.name}`);
      const limits = { ...job.limits, ...options.limit };
      await using runtime = await createRuntime({ tools: await job.tools(), sandbox, limits });
      measured.push(await compare(runtime, job.task, { signal }));
    }
  } catch (error) {
    if (signal.aborted) return cancelling.exitCode;
    throw error;
  }
  const comparisons = lossesFirst(measured);
  const about = {
    format: 3,
    date: new Date(now()).toISOString().slice(0, 10),
    portcullis: version,
    node: process.versions.node,
  } as const;
  if (json) printJson({ ...about, comparisons } satisfies BenchReport);
  else {
    const { head, rows } = reportTable(comparisons);
    printTable(head, rows, head.slice(1, -1));
    for (const note of reportNotes(comparisons)) writeStdout(`\n${oneLine(note)}\n`);
  }
  const modes = measured.flatMap(({ providers }) => providers.flatMap((one) => one.modes));
  return modes.every(({ answer }) => answer === "right") ? EXIT.completed : EXIT.failed;
}

/** The package's tasks by name (all but the large ones if none is named), or the user's own task. */
async function jobsOf(
  names: readonly string[],
  { tools, task }: CommandOptions<typeof BENCH>,
): Promise<readonly (LoadedTask & { readonly tools: () => Promise<readonly Tool[]> })[]> {
  if (task !== undefined || tools !== undefined) {
    if (task === undefined || tools === undefined || names.length > 0)
      throw new Failure(
        EXIT.usage,
        "--task and --tools go together, and without names: the package's tasks have tools.",
      );
    return [{ ...(await loadTask(task)), tools: () => loadTools(tools) }];
  }
  const chosen = names.length > 0 ? names.map((name) => word(TASKS)("bench", name)) : EXAMPLES;
  requireData(chosen);
  return Promise.all(
    chosen.map(async (name) => ({
      ...(await loadTask(exampleFile(name, "task.json"))),
      tools: () => exampleTools(name),
    })),
  );
}
