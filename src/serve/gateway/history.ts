import type { Transcript } from "../../agent/from-journal/transcript.ts";
import type { Asked, AskedAnswer } from "../../models/surface/surface.ts";
import type { CallResult, ModelCall } from "../../models/model.ts";
import { NO_USAGE } from "../../models/model.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { ClientTools } from "./client-tools.ts";

/** The history that a client repeats, as a transcript with which a conversation begins. */
export function transcriptOf({ turns, programs }: Asked, tools: ClientTools, model: string): Transcript {
  const last = turns.at(-1);
  return {
    format: 1,
    model,
    task: "",
    programs: programs ? "local" : "none",
    tools: tools.all.map(({ name }) => name),
    turns: turns.map(({ said, text, calls, results }) => {
      const own = calls.map((call) => ownCall(call, tools));
      return {
        said: said.map((message) => ({ by: "user" as const, message })),
        turn: {
          type: "turn" as const,
          text,
          calls: own,
          hosted: [],
          end: { type: calls.length > 0 ? ("called" as const) : ("answered" as const) },
          usage: NO_USAGE,
        },
        model,
        results: own.map((call) => resultOf(call, results.get(call.id))),
      };
    }),
    ending: last && last.calls.length === 0 ? { type: "answered", answer: last.text } : { type: "cancelled" },
  };
}

function ownCall(call: ModelCall, tools: ClientTools): ModelCall {
  return call.type === "tool_call" ? { ...call, tool: tools.own(call.tool) } : call;
}

function resultOf(call: ModelCall, answer: AskedAnswer = NO_ANSWER): CallResult {
  const { text, isError, parts } = answer;
  const tool = call.type === "tool_call" ? call.tool : RUN_PROGRAM;
  const provenance = { tool, bytes: Buffer.byteLength(text) };
  return { callId: call.id, text, isJson: false, isError, ...(parts.length > 0 ? { parts } : {}), provenance };
}

const NO_ANSWER: AskedAnswer = { text: "It has no result.", isError: true, parts: [] };
