import { byteText, type ExecutionId, PortcullisError, type Share } from "../../base/index.ts";
import type { AgentScope } from "../agent-scope.ts";

/**
 * What the history of a conversation holds in memory while a driver has it, or is about to: all histories of a tenant share
 * what they hold, because a model may take its time. Its holder ends it.
 */
export function historyShare({ gate: { held }, tenant }: Pick<AgentScope, "gate" | "tenant">): Share {
  return held.shareOfTenant(tenant);
}

export function holdHistory(history: Share, execution: ExecutionId, bytes: number): void {
  const overdraft = history.hold(bytes);
  if (overdraft)
    throw new PortcullisError(
      "busy",
      `The history of the conversation ${JSON.stringify(execution)} needs ${byteText(history.held + bytes)} of memory or more, and ${byteText(overdraft.allowed)} are free for all conversations of its tenant (createRuntime({ heldBytes })). Nothing was said, and it stays as it was: try again later, or begin a new conversation.`,
    );
}

export async function withHistory<Value>(
  scope: Pick<AgentScope, "gate" | "tenant">,
  work: (history: Share) => Promise<Value>,
): Promise<Value> {
  const history = historyShare(scope);
  try {
    return await work(history);
  } finally {
    history.end();
  }
}
