import type { CommandOptions, RUN } from "../../command-options.ts";
import { EXIT, CommandFailure, UsageFailure } from "../../failure.ts";
import { needsJournal, optionalJournal, findExecution } from "../../input/open-journal.ts";
import { openRuntime, printProgram } from "./open-runtime.ts";
import { isUtf8 } from "node:buffer";
import { createReadStream, fstatSync, type Stats, statSync } from "node:fs";
import { PROGRAM_BYTES } from "../../../executions/prepare/refuse-text.ts";
import { requireFile } from "../../input/option-values.ts";
import { standardStreams } from "../../terminal/standard-streams.ts";

/** `portcullis run`: runs a program. Resolves with the exit code. The result goes to standard output, everything else to standard error. */
export async function run(file: string, options: CommandOptions<typeof RUN>): Promise<number> {
  const { id, tenant, result, maxAge: maxAgeMs } = options;
  needsJournal("--id", id, options.journal);
  needsJournal("--corrects", options.corrects, options.journal);
  const language = options.language ?? (file.endsWith(".py") ? "python" : "javascript");
  if (language === "python" && options.sandbox !== "docker")
    throw new UsageFailure(`The program ${file} is Python, which runs in containers only: add --sandbox docker.`);
  const program = await readProgram(file);
  await using journal = optionalJournal(options.journal);
  await using open = await openRuntime(options, journal, { tenant });
  const { runtime, signal } = open;
  const corrects =
    options.corrects === undefined ? undefined : await findExecution(journal!, options.corrects, tenant ?? "default");
  const report = await runtime.execute(program, { language, signal, result, id, corrects, maxAgeMs });
  return await open.end(printProgram(open, report), report.artifacts);
}

/** The source in a file, or on standard input for `-`. Reading stops once the source exceeds the largest program. */
async function readProgram(file: string): Promise<string> {
  const what = file === "-" ? "on standard input" : file;
  if (file !== "-") requireFile("run", file);
  const bytes = await readBytes(file).catch((cause: Error) => {
    throw new UsageFailure(`The program ${what} cannot be read: ${cause.message}`, { cause });
  });
  if (typeof bytes === "string")
    throw new CommandFailure(
      EXIT.refused,
      `The program ${what} has ${bytes} bytes, at most ${PROGRAM_BYTES} are allowed.`,
    );
  if (!isUtf8(bytes))
    throw new CommandFailure(EXIT.refused, `The program ${what} is not UTF-8. Save the file as UTF-8.`);
  return bytes.toString();
}

/** The bytes of a program, or their number as text if there are more than allowed. */
async function readBytes(file: string): Promise<Buffer | string> {
  const { stdin } = standardStreams();
  const stats: Stats = file === "-" ? fstatSync(stdin.fd) : statSync(file);
  if (stats.isFile() && stats.size > PROGRAM_BYTES) return `${stats.size}`;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of (file === "-" ? stdin : createReadStream(file)) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > PROGRAM_BYTES) return `more than ${PROGRAM_BYTES}`;
  }
  return Buffer.concat(chunks);
}
