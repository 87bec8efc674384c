import { decideConversation, type DecideScope } from "../agent/decide-conversation.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { decide as decideProgram, type Said } from "../programs/decide.ts";

/** Notes decisions and results for calls of an execution or a conversation that wait, without driving it. Rejects as `resume` does. */
export async function decide(scope: DecideScope, execution: ExecutionId, said: Said): Promise<void> {
  const { kind } = await scope.journal.find(execution);
  const note = kind === "conversation" ? decideConversation : decideProgram;
  return note(scope, execution, said);
}
