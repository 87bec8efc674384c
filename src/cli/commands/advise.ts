import { readFileSync } from "node:fs";
import type { BenchReport, ToolAdvice } from "../../comparison/report/report.ts";
import type { ToolSet } from "../../tools/tool-set.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { printJson, printTable } from "../terminal/print.ts";

/** Path of the report that `portcullis bench --out bench` writes. */
const REPORT_FILE = "bench/report.json";

/** `portcullis tools --advise`: prints which tools to call directly, from the sizes that a bench measured. Returns the exit code. */
export function advise(tools: ToolSet, file: string | true, json: boolean): number {
  const path = file === true ? REPORT_FILE : file;
  const measured = new Map(adviceIn(path).map((advice) => [advice.tool, advice] as const));
  const rows = tools.all.map(({ name }) => measured.get(name) ?? { tool: name, text: NOT_MEASURED });
  if (json) printJson(rows);
  else
    printTable(
      ["tool", "advice"],
      rows.map(({ tool, text }) => [tool, text]),
    );
  return EXIT.completed;
}

const NOT_MEASURED =
  "No task in this report calls it: measure a task that does, with portcullis bench --tools … --task …";

/** Reads the advice in a report. The file may be anything, so its form is checked. */
function adviceIn(path: string): readonly ToolAdvice[] {
  const wrong = (what: string) =>
    new Failure(
      EXIT.usage,
      `--advise: ${path} ${what}. Make a report with: portcullis bench --tools ./tools.js --task my-task.json --out bench`,
    );
  let report: unknown;
  try {
    report = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw wrong(`cannot be read (${(cause as Error).message})`);
  }
  const { format, advice } = (typeof report === "object" && report !== null ? report : {}) as Partial<BenchReport>;
  const isAdvice = (one: Partial<ToolAdvice> | null) => typeof one?.tool === "string" && typeof one.text === "string";
  if (format !== 1 || !Array.isArray(advice) || !advice.every(isAdvice))
    throw wrong("is not a report of portcullis bench");
  return advice;
}
