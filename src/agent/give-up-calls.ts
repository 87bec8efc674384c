import type { ModelCall } from "../models/model.ts";
import { refusal } from "./call-result.ts";
import type { LiveConversation } from "./live-conversation.ts";
import { cancelPrograms } from "./past-conversation.ts";
import { RUN_PROGRAM } from "./run-program.ts";

const GIVEN_UP = "The user went on before this call had an answer, so it was given up.";

/** Answers the calls that are open as given up, ends the programs among them, and closes the turn. */
export async function giveUpOpenCalls(live: LiveConversation): Promise<void> {
  const { open } = live;
  if (!open) return;
  const left = open.turn.calls.filter(({ id }) => !open.results.has(id));
  if (left.length > 0) await cancelPrograms(live.scope, live.execution, await live.refresh());
  for (const call of left) live.takeResult(refusal(call, GIVEN_UP, toolOf(call)));
  await live.closeTurn();
}

export function toolOf(call: ModelCall): string {
  return call.type === "tool_call" ? call.tool : RUN_PROGRAM;
}
