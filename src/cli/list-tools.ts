import { readFileSync } from "node:fs";
import { declareTools } from "../tools/declarations.ts";
import { countTokens } from "../tools/count-tokens.ts";
import { jsonSchemaOf } from "../tools/define-tool.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolSet } from "../tools/tool-set.ts";
import type { BenchReport, ToolAdvice } from "../measures/report.ts";
import { cleanText } from "../output/clean-text.ts";
import { EXIT } from "./exit-code.ts";
import { Failure } from "./failure.ts";
import { loadTools } from "./load-tools.ts";
import { table } from "./table.ts";

/** `portcullis tools`: resolves with the exit code. */
export async function listTools(options: {
  readonly tools: string;
  readonly json?: boolean;
  readonly stubs?: boolean;
  readonly advise?: string | true;
}): Promise<number> {
  const tools = new ToolSet(await loadTools(options.tools));
  if (options.advise !== undefined) return advise(tools, options.advise, options.json === true);
  if (options.stubs) {
    process.stdout.write(`${declareTools(tools.visibleTo(["programmatic"]))}\n`);
    return EXIT.completed;
  }
  const rows = tools.all.map((tool) => ({
    name: tool.name,
    callers: tool.allowedCallers,
    effect: tool.effect,
    jsonTokens: tool.allowedCallers.includes("direct") ? countTokens(jsonTool(tool)) : undefined,
    stubTokens: tool.allowedCallers.includes("programmatic") ? countTokens(declareTools([tool])) : undefined,
  }));
  if (options.json) {
    process.stdout.write(`${JSON.stringify(rows)}\n`);
    return EXIT.completed;
  }
  const sum = (tokens: readonly (number | undefined)[]) => tokens.reduce<number>((all, one) => all + (one ?? 0), 0);
  const cells = rows.map((row) => [
    row.name,
    row.callers.join(", "),
    row.effect,
    `${row.jsonTokens ?? "–"}`,
    `${row.stubTokens ?? "–"}`,
  ]);
  const total = [
    `${rows.length} tools`,
    "",
    "",
    `${sum(rows.map((row) => row.jsonTokens))}`,
    `${sum(rows.map((row) => row.stubTokens))}`,
  ];
  process.stdout.write(
    `${table(["tool", "callers", "effect", "tokens as JSON", "tokens as stub"], [...cells, total], ["tokens as JSON", "tokens as stub"])}\n`,
  );
  return EXIT.completed;
}

/** A tool in the form that providers take for direct calls. */
function jsonTool(tool: Tool): string {
  const { $schema: _, ...schema } = jsonSchemaOf(tool.name, "input", tool.input);
  return JSON.stringify({ name: tool.name, description: tool.description, input_schema: schema });
}

/** Folder and file that `portcullis bench --out bench` writes. */
const REPORT_FILE = "bench/report.json";

/** Says which tools are better called directly, by what a bench has measured of them. */
function advise(tools: ToolSet, file: string | true, json: boolean): number {
  const path = file === true ? REPORT_FILE : file;
  const measured = new Map(adviceIn(path).map((advice) => [advice.tool, advice] as const));
  const rows = tools.all.map(({ name }) => measured.get(name) ?? { tool: name, text: NOT_MEASURED });
  if (json) process.stdout.write(`${cleanText(JSON.stringify(rows))}\n`);
  else
    process.stdout.write(
      `${cleanText(
        table(
          ["tool", "advice"],
          rows.map(({ tool, text }) => [tool, text]),
        ),
      )}\n`,
    );
  return EXIT.completed;
}

const NOT_MEASURED = "No task of this report calls it: measure one that does, with portcullis bench --tools … --task …";

/** Advice of a report, which may be a file that anybody has written. */
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
