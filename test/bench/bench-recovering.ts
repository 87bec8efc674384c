/*
 * `make bench-recovering`: what a corrected program saves. Each open task of the bench is run three times: with an error in its
 * last line, corrected on its own, and corrected after the one that failed (`execute({ after })`). Each handler takes PAUSE_MS
 * more (50 by default), as an API would. TASKS selects.
 */
import { createRuntime, type Tool } from "portcullis";
import { createMemoryJournal } from "portcullis/journal";
import { EXAMPLES, exampleFile, exampleTools } from "../../src/cli/input/examples.ts";
import { loadTask } from "../../src/cli/input/task-file.ts";
import { markdown } from "./table.js";

const PAUSE_MS = Number(process.env["PAUSE_MS"] ?? 50);
const NAMES = process.env["TASKS"]?.split(" ").filter(Boolean) ?? EXAMPLES;

let handlers = 0;

/** The same tool, whose handler is counted and takes a while. */
function paused(tool: Tool): Tool {
  const { handler } = tool;
  if (handler === "client") return tool;
  return {
    ...tool,
    handler: async (input, context) => {
      handlers += 1;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      return handler(input, context);
    },
  };
}

/** The program with an error after all of its work: its last statement is what it returns. */
function failing(program: string): string {
  const last = program.lastIndexOf("\nreturn ");
  if (last < 0) throw new Error("The program has no last line that returns.");
  const work = `${program.slice(0, last)}\nconst answer = ${program.slice(last + "\nreturn ".length)}`;
  return `${work}\nreturn answer.rows.length;`;
}

const rows: Record<string, string | number>[] = [];
const sum = { alone: 0, after: 0, aloneMs: 0, afterMs: 0 };
for (const name of EXAMPLES.filter((one) => NAMES.includes(one))) {
  const { task, limits } = await loadTask(exampleFile(name, "task.json"));
  // A journal in memory deletes large executions once they have ended, unless it is told to keep them.
  const journal = createMemoryJournal({ keepLength: Number.POSITIVE_INFINITY });
  await using runtime = await createRuntime({ tools: (await exampleTools(name)).map(paused), limits, journal });
  const run = async (program: string, after?: string) => {
    const before = handlers;
    const since = performance.now();
    const report = await runtime.execute(program, after === undefined ? {} : { after });
    return { report, made: handlers - before, ms: performance.now() - since };
  };
  const failed = await run(failing(task.program));
  if (failed.report.outcome.type !== "failed") throw new Error(`${name}: ${failed.report.output.text}`);
  const alone = await run(task.program);
  const after = await run(task.program, failed.report.execution);
  for (const { report } of [alone, after])
    if (report.output.text.split("\n\n")[0] !== alone.report.output.text || report.outcome.type !== "completed")
      throw new Error(`${name}: the answers differ: ${report.output.text}`);
  sum.alone += alone.made;
  sum.after += after.made;
  sum.aloneMs += alone.ms;
  sum.afterMs += after.ms;
  rows.push(row(name, alone.made, after.made, alone.ms, after.ms));
}
rows.push(row("all", sum.alone, sum.after, sum.aloneMs, sum.afterMs));

function row(task: string, alone: number, after: number, aloneMs: number, afterMs: number) {
  const saved = (whole: number, rest: number) => `${Math.round((1 - rest / whole) * 100)} %`;
  return {
    task,
    "handlers alone": alone,
    "handlers after": after,
    saved: saved(alone, after),
    "seconds alone": (aloneMs / 1000).toFixed(2),
    "seconds after": (afterMs / 1000).toFixed(2),
    "time saved": saved(aloneMs, afterMs),
  };
}

const head = Object.keys(rows[0] ?? {});
const table = markdown(
  head,
  rows.map((one) => head.map((name) => one[name])),
);
process.stdout.write(
  `A corrected program, on its own and after the one that failed in its last line; ${PAUSE_MS} ms a handler.\n\n${table}\n`,
);
