import type { Language } from "../../../bridge/frames.ts";
import { PortcullisError } from "../../errors.ts";
import type { Report } from "../../output/report.ts";
import { byteText } from "../../output/sentences.ts";
import type { Limits } from "../../programs/limits.ts";
import { createRuntime } from "../../runtime.ts";
import { printJson } from "../terminal/print.ts";
import { cancelOnSignal } from "../terminal/cancel-on-signal.ts";
import { exitCodeOf } from "../exit-code.ts";
import { loadTools } from "../input/load-tools.ts";
import { parseSandbox } from "../input/parse-sandbox.ts";
import { showProgress } from "../terminal/progress.ts";
import { readProgram } from "../input/read-program.ts";
import { oneLine } from "../terminal/one-line.ts";

export interface RunOptions {
  readonly tools: string;
  readonly sandbox: string;
  /** By default from the extension of the program's file. */
  readonly language?: string;
  readonly limit: Partial<Limits>;
  readonly tenant?: string;
  readonly json?: boolean;
}

/** `portcullis run`: runs a program. Resolves with the exit code. The result goes to standard output, everything else to standard error. */
export async function run(file: string, options: RunOptions): Promise<number> {
  const sandbox = parseSandbox(options.sandbox);
  const language = (options.language ?? languageOf(file)) as Language;
  if (language === "python" && sandbox === "isolate")
    throw new PortcullisError("option_invalid", "The isolate sandbox does not run Python: add --sandbox docker.");
  const program = await readProgram(file);
  const tools = await loadTools(options.tools);
  const progress = options.json ? undefined : showProgress(process.stderr);
  using cancelling = cancelOnSignal();
  try {
    await using runtime = await createRuntime({
      tools,
      sandbox,
      limits: options.limit,
      ...(options.tenant === undefined ? {} : { tenant: options.tenant }),
      ...(progress ? { onEvent: progress.onEvent } : {}),
    });
    const report = await runtime.execute(program, { language, signal: cancelling.signal });
    progress?.end();
    if (options.json) printJson(report);
    else print(report);
    return report.outcome.type === "cancelled" ? cancelling.exitCode : exitCodeOf(report);
  } finally {
    progress?.end();
  }
}

function languageOf(file: string): Language {
  return file.endsWith(".py") ? "python" : "javascript";
}

function print({ output, outcome, usage }: Report): void {
  process.stdout.write(`${output.text}\n`);
  if (outcome.type === "crashed") process.stderr.write(`portcullis: ${oneLine(outcome.detail)}\n`);
  const how = outcome.type === "stopped" ? `stopped by ${outcome.limit}` : outcome.type;
  const seconds = ((usage.runningMs + usage.waitingMs) / 1000).toFixed(1);
  process.stderr.write(
    `${how}: ${usage.calls} ${usage.calls === 1 ? "call" : "calls"}, ${byteText(usage.bytesIn)} in, ${byteText(usage.bytesOut)} out, ${seconds} s\n`,
  );
}
