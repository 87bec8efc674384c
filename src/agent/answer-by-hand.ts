import { optionError, PortcullisError } from "../errors.ts";
import type { ModelCall, ToolCall } from "../models/model.ts";
import type { ClientResult } from "../programs/decide.ts";
import { jsonTextOf } from "../values/json/json-text.ts";
import { refusal, resultOfAnswer, toolOf } from "./calls/call-result.ts";
import type { LiveConversation } from "./drive/live-conversation.ts";
import { cancelPrograms } from "./from-journal/past-conversation.ts";

/** Answers a call in place of its tool. Throws `call_unknown` if the call is not open, and `option_invalid` for a wrong answer. */
export async function answerByHand(live: LiveConversation, callId: string, answer: ClientResult): Promise<void> {
  const { scope } = live;
  const call = live.openCalls.find(({ id }) => id === callId);
  if (!call)
    throw new PortcullisError(
      "call_unknown",
      `There is no open call ${JSON.stringify(callId)}. Take a \`callId\` of the last step() that has no answer yet.`,
    );
  const text = textOf(answer);
  // A program that the call has begun ends with it.
  const past = await live.read();
  const begun = past.open.get(callId);
  if (begun?.program) await cancelPrograms(scope, { ...past, open: new Map([[callId, begun]]) });
  if (text.error !== undefined) return live.takeResult(refusal(call, text.error));
  const share = scope.gate.held.share(scope.tenant, 0);
  try {
    const value = { ok: true, text: text.value, bytes: Buffer.byteLength(text.value) } as const;
    live.takeResult(await resultOfAnswer(asToolCall(call), value, live.resultWays(share.lane)));
    await live.recorded;
  } finally {
    share.end();
  }
}

function textOf(answer: unknown): { readonly value: string; readonly error?: undefined } | { readonly error: string } {
  const { value, error, ...others } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  const isOne = (value === undefined) !== (error === undefined) && Object.keys(others).length === 0;
  const text = isOne && value !== undefined ? jsonTextOf(value) : undefined;
  if (isOne && typeof error === "string" && error.trim() !== "") return { error };
  if (text === undefined) throw optionError("answer(callId, answer)", "{ value }, which is JSON, or { error }", answer);
  return { value: text };
}

/** The result of a program is shown like the result of a call. */
function asToolCall(call: ModelCall): ToolCall {
  if (call.type === "tool_call") return call;
  return { type: "tool_call", id: call.id, tool: toolOf(call), caller: "direct", inputText: "" };
}
