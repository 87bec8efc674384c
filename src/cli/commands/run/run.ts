import { given } from "../../../option-rules/given.ts";
import type { CommandOptions, RUN } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { needsJournal, optionalJournal } from "../../input/open-journal.ts";
import { readProgram } from "../../input/read-program.ts";
import { findExecution } from "../../input/find-execution.ts";
import { openRuntime } from "./open-runtime.ts";

/** `portcullis run`: runs a program. Resolves with the exit code. The result goes to standard output, everything else to standard error. */
export async function run(file: string, options: CommandOptions<typeof RUN>): Promise<number> {
  const { execution, tenant, result, maxAge: maxAgeMs, approveProgram = false } = options;
  needsJournal("--execution", execution, options.journal);
  needsJournal("--after", options.after, options.journal);
  const language = options.language ?? (file.endsWith(".py") ? "python" : "javascript");
  if (language === "python" && options.sandbox !== "docker")
    throw new Failure(
      EXIT.usage,
      `The program ${file} is Python, which runs in containers only: add --sandbox docker.`,
    );
  const program = await readProgram(file);
  await using journal = optionalJournal(options.journal);
  await using open = await openRuntime(options, journal, {
    limits: options.limit,
    approvePrograms: approveProgram,
    ...given({ tenant }),
  });
  const { runtime, signal } = open;
  const after =
    options.after === undefined || !journal
      ? undefined
      : await findExecution(journal, options.after, tenant ?? "default");
  const corrected = given({ after, maxAgeMs });
  const report = await runtime.execute(program, { language, signal, ...given({ result, execution }), ...corrected });
  return await open.end(open.print(report), report.artifacts);
}
