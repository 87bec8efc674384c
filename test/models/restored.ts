import { type ConversationOptions, createRuntime } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import type { HostedTool } from "../../src/models/hosted-tools.ts";
import { expect } from "vitest";
import { openingFor } from "../../src/conversations/prompt/opening.ts";
import {
  applyTurnRecord,
  ConversationState,
  resultsInOrder,
} from "../../src/conversations/from-journal/conversation-state.ts";
import { readContent } from "../../src/conversations/from-journal/parse-message.ts";
import { programsFor } from "../../src/conversations/prompt/programs-option.ts";
import { createMemoryJournal, type JournalRecord } from "../../src/journal/index.ts";
import type { ModelConversation, Model } from "../../src/models/index.ts";
import { isWholeEnd } from "../../src/models/model.ts";
import { DEFAULT_LIMITS, limitsOf } from "../../src/executions/limits.ts";
import { Lane } from "../../src/base/index.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { ToolSearch } from "../../src/tools/search/tool-search.ts";
import { ToolSet } from "../../src/tools/tool-set.ts";
import type { ProgramsOption } from "../../src/conversations/prompt/programs-option.ts";

interface Restoring {
  readonly tools: readonly Tool[];
  readonly programs: ProgramsOption | undefined;
  readonly hostedTools?: readonly HostedTool[] | undefined;
}

/**
 * Checks that a conversation which another process takes up after any of its turns sends the request that was really
 * sent, byte for byte. `modelWith` is the model with another `fetch`; `sent` are the bodies of the requests.
 */
export async function expectSameRequests(
  records: readonly JournalRecord[],
  sent: readonly string[],
  modelWith: (fetch: typeof globalThis.fetch) => Model,
  { tools, programs, hostedTools }: Restoring,
): Promise<void> {
  const state = new ConversationState();
  for (const record of records) applyTurnRecord(state, record, await new Lane("").work(readContent(record)));
  const { turns } = state;
  const [header] = records;
  const limits = header?.type === "header" ? limitsOf(header) : DEFAULT_LIMITS;
  const search = new ToolSearch(new ToolSet(tools));
  let body: string | undefined;
  const model = modelWith(async (_, init) => {
    body = await new Response(init?.body as string).text();
    return new Response("{}", { status: 418 });
  });
  const begin = async (): Promise<ModelConversation> => {
    const conversation = await model.converse(
      openingFor(
        model,
        { gate: { search }, language: "javascript", tenant: "default", limits },
        { programs: programsFor(programs, search.tools), ...(hostedTools && { settings: { hostedTools } }) },
      ),
    );
    conversation.say("Do it.");
    return conversation;
  };
  for (const count of turns.keys()) {
    if (count === 0 || sent[count] === undefined) continue;
    const conversation = await begin();
    for (const kept of turns.slice(0, count)) {
      const { said, turn, opaque } = kept;
      for (const { message } of said) conversation.say(message);
      // What does not count is not sent again.
      if (!isWholeEnd(turn.end)) continue;
      conversation.restore?.(turn, opaque);
      conversation.answer(resultsInOrder(kept));
    }
    for (const { message } of turns[count]?.said ?? []) conversation.say(message);
    body = undefined;
    const isLast = turns[count]?.said.some(({ why }) => why === "wrap_up") === true;
    const choice = isLast ? ({ toolChoice: "none" } as const) : {};
    const { signal } = new AbortController();
    await conversation.turn({ signal, maxTokens: 1_000_000, ...choice, onText: () => {} });
    expect(body, `the request for turn ${count + 1}`).toBe(sent[count]);
  }
}

/** A conversation of one turn that its process leaves, and that another one answers. */
export async function leftAndAnswered(
  tools: readonly Tool[],
  given: ConversationOptions,
  again: ConversationOptions = given,
) {
  const parts = { tools, journal: createMemoryJournal(), sandbox: createMemorySandbox() };
  {
    await using runtime = await createRuntime(parts);
    const talk = await runtime.conversation({ ...given, id: "one" });
    await talk.step("Do it.");
    await talk.leave();
  }
  await using runtime = await createRuntime(parts);
  await using talk = await runtime.conversation({ ...again, id: "one" });
  const { answer } = await talk.send();
  return { answer, journal: parts.journal };
}
