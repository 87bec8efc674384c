import { type BenchReport } from "./report.ts";
import { MODES } from "../comparison.ts";
import { reportNotes, type ReportTable, reportTables } from "./report-tables.ts";

/** The report as a document. */
export function reportMarkdown(report: BenchReport): string {
  const { date, settings } = report;
  const notes = reportNotes(report);
  return [
    "# What programs save against direct calls",
    `${date}, portcullis ${settings.portcullis}, node ${settings.node}. Given the same tools, data and right calls, this many tokens pass through the model. It does not measure what a model would choose to do, or get right: no model was called. All programs were run, all calls were made, and every answer was checked.`,
    `Settings: ${settings.atOnce} calls at once, results cut at ${settings.cutTokens.toLocaleString("en-US")} tokens where they are cut, a window of ${settings.windowTokens.toLocaleString("en-US")} tokens, ${settings.envelopeTokens} tokens round each call and result, no reasoning tokens; priced as ${settings.pricedAs} (prices of ${settings.pricesOf}).${settings.data.length > 0 ? ` Data: ${settings.data.join(", ")}.` : ""}`,
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
