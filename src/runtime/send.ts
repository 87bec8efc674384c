import { type ResolvedAgentOptions, openedOptions, requestOf, SEND_RULES } from "../conversations/agent-options.ts";
import type { AgentReport } from "../conversations/agent-report.ts";
import type { AgentScope } from "../conversations/agent-scope.ts";
import { sendOnce } from "../conversations/drive/send-once.ts";
import { messagesOf } from "../conversations/user-message.ts";
import type { ExecutionId } from "../base/index.ts";

type Read = ResolvedAgentOptions<typeof SEND_RULES>;

/** As `ExecutionHandle.send`. `run` runs work in the runtime's scope, changed by the options, when there is a place for it. */
export async function send<Answer>(
  id: ExecutionId,
  message: unknown,
  options: object,
  run: (
    read: Read & { readonly id: ExecutionId },
    work: (scope: AgentScope) => Promise<AgentReport<Answer>>,
  ) => Promise<AgentReport<Answer>>,
): Promise<AgentReport<Answer>> {
  const messages = message === undefined ? undefined : messagesOf(message, "send(message)");
  const read = openedOptions("send", options, SEND_RULES);
  const { expect, allowChangedTools, onSaid = () => {} } = read;
  return run({ ...read, id }, (scope) => {
    const request = requestOf(read, scope.gate.tools, "send");
    return sendOnce<Answer>(scope, id, { messages, expect, request, allowChangedTools, onSaid });
  });
}
