import type { Resolved } from "../options/options.ts";
import { type CONVERSE_RULES, KEPT_OPTIONS, requestOf } from "./agent-options.ts";
import type { AgentScope } from "./agent-scope.ts";
import { beginTalk, type Continued, continueConversation, continueTranscript } from "./continue-conversation.ts";
import { Talk, type TalkParts } from "./talk.ts";

export interface TalkOptions {
  /** As the developer wrote them, without defaults. */
  readonly given: object;
  readonly read: Resolved<typeof CONVERSE_RULES>;
}

/** Opens a conversation that its developer holds, of options that were read. */
export async function openTalk<Context, Answer>(
  scope: AgentScope,
  options: TalkOptions,
  parts: Omit<TalkParts, "live" | "ending">,
): Promise<Talk<Context, Answer>> {
  const opened = await parts.untilEnded(opening(scope, options)).catch(async (error: unknown) => {
    await parts.onDisposed();
    throw error;
  });
  return new Talk<Context, Answer>({ ...parts, ...opened });
}

function opening(scope: AgentScope, { given, read }: TalkOptions): Promise<Continued> {
  const { execution, allowChangedTools, continue: from } = read;
  const request = requestOf(read, scope.gate.tools, "converse");
  if (from === undefined) return beginTalk(scope, request, execution);
  const chosen = KEPT_OPTIONS.filter((name) => (given as Readonly<Record<string, unknown>>)[name] !== undefined);
  const work = { request, execution, chosen, allowChangedTools };
  return typeof from === "string" ? continueConversation(scope, from, work) : continueTranscript(scope, from, work);
}
