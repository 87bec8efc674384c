import { MAX_TURN_CALLS, type Transcript, type TranscriptTurn } from "../../conversations/from-journal/index.ts";
import { type SurfaceRequest, type AskedAnswer, invalidField } from "./surface/surface.ts";
import type { CallResult, ModelCall } from "../../models/model.ts";
import { isWholeEnd, NO_USAGE } from "../../models/model.ts";
import { bytesOf, passOn, asUntrusted } from "../../base/index.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { ClientTools } from "./client-tools.ts";
import type { Exchange } from "./gateway-parts.ts";
import { type Replies, turnsUntil } from "./from-journal/replies.ts";

/** The transcript with which a conversation begins that has this history. */
export function transcriptOf(
  turns: readonly TranscriptTurn[],
  { programs }: SurfaceRequest,
  model: string,
): Transcript {
  const last = turns.at(-1)?.turn;
  return {
    format: 1,
    model,
    task: "",
    programs: programs ? "local" : "none",
    tools: [],
    turns,
    ending: last && last.end.type === "answered" ? { type: "answered", answer: last.text } : { type: "cancelled" },
  };
}

/** The history that a client repeats. */
export function historyAsked({ turns }: SurfaceRequest, tools: ClientTools, model: string): readonly TranscriptTurn[] {
  return turns.map(({ userMessages, text, calls, results }) => {
    if (calls.length > MAX_TURN_CALLS)
      throw invalidField("input", `this server takes at most ${MAX_TURN_CALLS} calls in one turn of the model`);
    const own = calls.map((call) => (call.type === "tool_call" ? { ...call, tool: tools.own(call.tool) } : call));
    const end = { type: calls.length > 0 ? ("called" as const) : ("answered" as const) };
    return {
      said: userMessages.map((message) => ({ by: "user", message })),
      turn: { type: "turn", text, calls: own, hosted: [], end, usage: NO_USAGE },
      model,
      results: own.map((call) => resultOf(call, results.get(call.id))),
    };
  });
}

/** The history up to an answer of a conversation, with the answers to its calls. A turn that was cut off is left out. */
export function historyUntil(
  { ids, asked: { answers } }: Exchange,
  replies: Replies,
  reply: number,
): readonly TranscriptTurn[] {
  const { turns, header } = replies.state;
  const last = turnsUntil(replies, reply) - 1;
  return turns.slice(0, last + 1).flatMap(({ said, turn, model, results }, index) => {
    if (!isWholeEnd(turn.end)) return [];
    const callResults = turn.calls.map((call, place) => {
      // The calls of the last turn may have had other answers before.
      const answer = index === last ? answers.get(ids.call(header.execution, { turn: index, call: place })) : undefined;
      return (answer ? undefined : results.get(call.id)) ?? resultOf(call, answer);
    });
    return [{ said, turn, model, results: callResults }];
  });
}

function resultOf(call: ModelCall, answer: AskedAnswer = NO_ANSWER): CallResult {
  const { text, isError, parts } = answer;
  const tool = call.type === "tool_call" ? call.tool : RUN_PROGRAM;
  const about = { callId: call.id, isJson: false, isError, provenance: { tool, bytes: bytesOf(text) } };
  return { ...about, text: passOn(text), ...(parts.length > 0 && { parts }) };
}

export const NO_ANSWER: AskedAnswer = { text: asUntrusted("It has no result."), isError: true, parts: [] };
