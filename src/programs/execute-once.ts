import { PortcullisError } from "../errors.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import type { Header } from "../journal/record.ts";
import { drivenHere } from "./driven-here.ts";
import { execute, type Execution } from "./execute.ts";
import { resume, type ResumeWork } from "./resume.ts";
import type { Scope } from "./scope.ts";

/**
 * Runs a program under an id of the caller's choice. The same id again joins the execution that runs here, goes on with
 * one whose host died, or gives the report of one that has ended or waits. Rejects with `execution_exists` for another
 * program, language, result or tenant under the id, and as `resume` does.
 */
export async function executeOnce(
  scope: Scope,
  source: string,
  execution: ExecutionId,
  work: Pick<ResumeWork, "allowChangedTools" | "asks" | "result"> = {},
): Promise<Execution> {
  try {
    return await execute(scope, source, execution, work.result);
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "execution_exists") throw error;
  }
  const header = await headerOf(scope.journal, execution);
  const { above } = scope;
  const isSame = header?.kind === "program" && header.tenant === scope.tenant && header.language === scope.language;
  const isOfCaller = header?.parent?.execution === above?.execution && header?.parent?.call === above?.callId;
  if (!isSame || !isOfCaller || header.source !== source || header.result !== work.result?.digest)
    throw new PortcullisError(
      "execution_exists",
      `There is another execution ${JSON.stringify(execution)} already: its program, language, result or tenant differs. Choose another id.`,
    );
  return drivenHere<Execution>(scope.journal, execution)?.ended ?? resume(scope, execution, work);
}

/** The first record of an execution. */
export async function headerOf(journal: Journal, execution: ExecutionId): Promise<Header | undefined> {
  for await (const record of journal.read(execution)) return record.type === "header" ? record : undefined;
  return undefined;
}
