import type { ExecutionId } from "../journal/execution-id.ts";
import { execute, type Execution } from "./execute.ts";
import { once } from "./once.ts";
import { resume, type ResumeWork } from "./resume.ts";
import type { Scope } from "./scope.ts";

/**
 * Runs a program under an id of the caller's choice. The same id again joins the execution that runs here, goes on with
 * one whose host died, or gives the report of one that has ended or waits. Rejects with `execution_exists` for another
 * program, language, result or tenant under the id, and as `resume` does.
 */
export function executeOnce(
  scope: Scope,
  source: string,
  execution: ExecutionId,
  work: Pick<ResumeWork, "allowChangedTools" | "asks" | "result"> = {},
): Promise<Execution> {
  return once<Execution>(scope, {
    execution,
    what: "program, language, result or tenant",
    begin: async () => {
      const ended = await execute(scope, source, execution, work.result);
      return async () => ended;
    },
    text: source,
    isSame: (header, isText) =>
      header.kind === "program" &&
      header.language === scope.language &&
      isText(header.source) &&
      header.result === work.result?.digest,
    goOn: () => resume(scope, execution, work),
  });
}
