import { expect } from "vitest";
import { openingFor } from "../../src/agent/opening.ts";
import { parseResults, parseTurn } from "../../src/agent/parse-message.ts";
import { programsFor } from "../../src/agent/agent-options.ts";
import type { JournalRecord } from "../../src/journal/index.ts";
import type { CallResult, Conversation, Model, ModelTurn } from "../../src/models/index.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { ToolSearch } from "../../src/tools/search/tool-search.ts";
import { ToolSet } from "../../src/tools/tool-set.ts";
import type { ProgramsOption } from "../../src/agent/transcript.ts";

interface Recorded {
  readonly turn: ModelTurn;
  readonly opaque: string | undefined;
  readonly results: CallResult[];
}

/**
 * Checks that a conversation which another process takes up after any of its turns sends the request that was really
 * sent, byte for byte. `modelWith` is the model with another `fetch`; `sent` are the bodies of the requests.
 */
export async function expectSameRequests(
  records: readonly JournalRecord[],
  sent: readonly string[],
  modelWith: (fetch: typeof globalThis.fetch) => Model,
  { tools, programs }: { readonly tools: readonly Tool[]; readonly programs: ProgramsOption | undefined },
): Promise<void> {
  const turns = recordedTurns(records);
  const search = new ToolSearch(new ToolSet(tools));
  let body: string | undefined;
  const model = modelWith(async (_, init) => {
    body = await new Response(init?.body as string).text();
    return new Response("{}", { status: 418 });
  });
  const begin = async (): Promise<Conversation> => {
    const conversation = await model.converse(
      openingFor(model, search, {
        programs: programsFor(programs, search.tools),
        language: "javascript",
        tenant: "default",
      }),
    );
    conversation.say("Do it.");
    return conversation;
  };
  for (const count of turns.keys()) {
    if (count === 0 || sent[count] === undefined) continue;
    const conversation = await begin();
    for (const { turn, opaque, results } of turns.slice(0, count)) {
      conversation.restore?.(turn, opaque);
      conversation.answer(results);
    }
    body = undefined;
    await conversation.turn({ signal: new AbortController().signal, maxTokens: 1_000_000, onText: () => {} });
    expect(body, `the request for turn ${count + 1}`).toBe(sent[count]);
  }
}

function recordedTurns(records: readonly JournalRecord[]): readonly Recorded[] {
  const turns: Recorded[] = [];
  for (const record of records) {
    if (record.type !== "message") continue;
    if (record.from === "model") turns.push({ turn: parseTurn(record), opaque: record.opaque, results: [] });
    else turns.at(-1)?.results.push(...parseResults(record));
  }
  return turns;
}
