import { given } from "../../../option-rules/given.ts";
import type { CommandOptions, RUN } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { checkExecution, optionalJournal } from "../../input/open-journal.ts";
import { readProgram } from "../../input/read-program.ts";
import { openRuntime } from "./open-runtime.ts";

/** `portcullis run`: runs a program. Resolves with the exit code. The result goes to standard output, everything else to standard error. */
export async function run(file: string, options: CommandOptions<typeof RUN>): Promise<number> {
  const { execution, tenant, result, approveProgram = false } = options;
  checkExecution(execution, options.journal);
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
  const report = await runtime.execute(program, { language, signal, ...given({ result, execution }) });
  return await open.end(open.print(report), report.artifacts);
}
