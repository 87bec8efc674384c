import { readFileSync } from "node:fs";
import type { BenchReport, ToolAdvice } from "../../comparison/report/report.ts";
import type { ToolSet } from "../../tools/tool-set.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { printJson, printTable } from "../terminal/print.ts";

/** Folder and file that `portcullis bench --out bench` writes. */
const REPORT_FILE = "bench/report.json";

/** `portcullis tools --advise`: which are better called directly, by what a bench has measured of them. Returns the exit code. */
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

const NOT_MEASURED = "No task of this report calls it: measure one that does, with portcullis bench --tools … --task …";

/** Advice in a report. The file is checked: it may be something else. */
function adviceIn(path: string): readonly ToolAdvice[] {
  const wrong = (what: string) =>
    new Failure(
      EXIT.usage,
      `--advise: ${path} ${what}. Advice is by measured sizes: portcullis bench --tools ./tools.js --task my-task.json --out bench measures them.`,
    );
  let report: unknown;
  try {
    report = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw wrong(`cannot be read (${(cause as Error).message})`);
  }
  const { format, advice } = (typeof report === "object" && report !== null ? report : {}) as Partial<BenchReport>;
  const isAdvice = (one: Partial<ToolAdvice> | null) => typeof one?.tool === "string" && typeof one.text === "string";
  if (format !== 1 || !Array.isArray(advice) || !advice.every(isAdvice)) throw wrong("is no report of a bench");
  return advice;
}
