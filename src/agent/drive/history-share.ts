import { PortcullisError } from "../../errors.ts";
import type { ExecutionId } from "../../journal/execution-id.ts";
import type { Share } from "../../values/held-bytes.ts";
import { byteText } from "../../output/byte-text.ts";
import type { AgentScope } from "../agent-scope.ts";

/** What the history of a conversation holds in memory while a driver has it, or is about to. Its holder ends it. */
export function historyShare({ gate, tenant }: Pick<AgentScope, "gate" | "tenant">): Share {
  return gate.held.share(tenant, Number.POSITIVE_INFINITY);
}

/** Runs work with a share that ends with it. */
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

/** Throws `busy` if there is no room for more of a conversation's history. */
export function holdHistory(history: Share, execution: ExecutionId, bytes: number): void {
  const over = history.hold(bytes);
  if (!over) return;
  throw new PortcullisError(
    "busy",
    `The history of the conversation ${JSON.stringify(execution)} needs ${byteText(over.seen)} of memory or more, and ${byteText(over.allowed)} are free for it (createRuntime({ heldBytes })). Nothing was said, and it stays as it was: try again later, or begin a new conversation.`,
  );
}
