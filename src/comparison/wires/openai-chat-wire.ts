import { fieldOf, listOf, textOf } from "../../values/fields.ts";
import { openaiChat } from "../../models/provider/providers.ts";
import {
  argumentsText,
  definitionsOf,
  givenName,
  notSent,
  offline,
  type RequestPart,
  textPart,
  type Wire,
} from "./wire.ts";

/** OpenAI's Chat Completions. */
export const openAiChatWire: Wire = {
  provider: "openai-chat",
  exact: true,
  connect: (fetch) => openaiChat(offline(fetch)),
  replyOf: ({ text, calls, end }, opening) => ({
    id: "chatcmpl_offline",
    object: "chat.completion",
    created: 0,
    model: "offline",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" ? null : text,
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map((call) => ({
                  id: call.id,
                  type: "function",
                  function: { name: givenName(call, opening), arguments: argumentsText(call) },
                })),
              }),
        },
        finish_reason: end.type === "called" ? "tool_calls" : "stop",
      },
    ],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  }),
  partsOf(request) {
    const [system, ...messages] = listOf(request, "messages");
    const instructions = textOf(system, "content");
    if (textOf(system, "role") !== "system" || instructions === undefined)
      throw notSent("openai-chat", "body", request);
    return {
      instructions,
      definitions: definitionsOf(listOf(request, "tools")),
      parts: messages.flatMap(partsOfMessage),
      isCached: true,
    };
  },
};

function partsOfMessage(message: unknown): RequestPart[] {
  const role = textOf(message, "role");
  const content = textOf(message, "content");
  if (role === "user" && content !== undefined) return textPart("said", content);
  if (role === "assistant")
    return [...textPart("words", content ?? ""), ...listOf(message, "tool_calls").map((call) => callPart(call))];
  const callId = textOf(message, "tool_call_id");
  if (role === "tool" && callId !== undefined && content !== undefined)
    return [{ type: "result", callId, text: content }];
  throw notSent("openai-chat", "message", message);
}

function callPart(call: unknown): RequestPart {
  const called = fieldOf(call, "function");
  const [callId, name, text] = [textOf(call, "id"), textOf(called, "name"), textOf(called, "arguments")];
  if (callId === undefined || name === undefined || text === undefined)
    throw notSent("openai-chat", "call of a tool", call);
  return { type: "call", callId, name, text };
}
