import type { Report } from "../../output/report.ts";
import { byteText } from "../../output/sentences.ts";
import { oneLine } from "./one-line.ts";
import { type SameOptions, waitingHints } from "./waiting-hints.ts";
import { writeStdout } from "./standard-streams.ts";

/** Prints what a model would read on standard output, and how the execution ended on standard error. */
export function printReport({ execution, output, outcome, usage }: Report, same: SameOptions): void {
  writeStdout(`${output.text}\n`);
  const note = (text: string) => process.stderr.write(`${text}\n`);
  if (outcome.type === "crashed") note(`portcullis: ${oneLine(outcome.detail)}`);
  if (outcome.type === "waiting") for (const hint of waitingHints(execution, outcome, same)) note(hint);
  const how = outcome.type === "stopped" ? `stopped by ${outcome.limit}` : outcome.type;
  const seconds = ((usage.runningMs + usage.waitingMs) / 1000).toFixed(1);
  note(
    `${how}: ${usage.calls} ${usage.calls === 1 ? "call" : "calls"}, ${byteText(usage.bytesIn)} in, ${byteText(usage.bytesOut)} out, ${seconds} s`,
  );
}
