/*
 * An answer as its client is told it: the parts that the journal has, how it ends, and the facts about it.
 */
import { Lane, now, type SlicedWork } from "../../../base/index.ts";
import type { AgentEnding } from "../../../conversations/event.ts";
import { ifKnown } from "../../../journal/reading/index.ts";
import type { ReplyEnd, ReplyFacts, ReplyHead, AnswerPart } from "../surface/surface.ts";
import type { Exchange, AnswerPlace } from "../gateway-parts.ts";
import { emptyReply, type Reply, readReplies, type JournalPart } from "./replies.ts";

export async function readAnswer(exchange: Exchange & AnswerPlace) {
  const { ids, tools, key, runtime, pauseMs, execution } = exchange;
  const replies = await ifKnown(() => readReplies(runtime.journal, execution, key.tenant));
  const { parts, calls, usage, programs, ending } = replies?.all[exchange.reply] ?? emptyReply();
  const waits = Math.min(...calls.map(({ expiresAt }) => expiresAt));
  const hasPrograms = replies?.all.some((one) => one.parts.some(({ type }) => type === "program")) === true;
  const expiresAt = Number.isFinite(waits) ? waits : now() + pauseMs;
  const end = endOf(ending, calls.length > 0);
  // A client that goes on without anything new names it.
  const state = hasPrograms || end.type === "stopped" ? { id: ids.state(execution), expiresAt } : undefined;
  const facts: ReplyFacts = { ...answerHead(exchange), state, usage, programs };
  const shown = await new Lane(key.tenant).work(shownParts(parts, (part) => ids.part(execution, part, tools)));
  return { parts: shown, end, facts };
}

/** An answer may have ten thousand calls, and each id is sealed. */
function* shownParts(
  parts: Reply["parts"],
  shown: (part: JournalPart) => AnswerPart,
): SlicedWork<readonly AnswerPart[]> {
  const all: AnswerPart[] = [];
  for (const part of parts) {
    all.push(shown(part));
    yield;
  }
  return all;
}

/** How an answer ends after which the conversation rests so, or waits. */
function endOf(ending: AgentEnding | undefined, hasCalls: boolean): ReplyEnd {
  if (!ending) return { type: hasCalls ? "called" : "stopped" };
  if (ending.type === "cut_off" || ending.type === "refused") return ending;
  return { type: ending.type === "answered" || ending.type === "answer_invalid" ? "answered" : "stopped" };
}

export function answerHead({ ids, asked, execution, reply }: Pick<Exchange, "ids" | "asked"> & AnswerPlace): ReplyHead {
  const id = ids.write("reply", execution, reply, asked.isStored ? 1 : 0);
  return { id, model: asked.model, echo: asked.echo, at: now() };
}
