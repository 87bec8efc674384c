import { fieldOf, isFields, listOf, textOf, without } from "../../values/fields.ts";
import { anthropic } from "../../models/provider/providers.ts";
import {
  argumentsObject,
  definitionsOf,
  givenName,
  notSent,
  offline,
  type RequestPart,
  textPart,
  type Wire,
} from "./wire.ts";

/** Anthropic's Messages API. */
export const anthropicWire: Wire = {
  provider: "anthropic",
  exact: false,
  connect: (fetch) => anthropic(offline(fetch)),
  replyOf: ({ text, calls, end }, opening) => ({
    id: "msg_offline",
    type: "message",
    role: "assistant",
    model: "offline",
    content: [
      ...(text === "" ? [] : [{ type: "text", text }]),
      ...calls.map((call) => ({
        type: "tool_use",
        id: call.id,
        name: givenName(call, opening),
        input: argumentsObject(call),
      })),
    ],
    stop_reason: end.type === "called" ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0 },
  }),
  partsOf(request) {
    const [system] = listOf(request, "system");
    const instructions = textOf(request, "system") ?? textOf(system, "text");
    const messages = fieldOf(request, "messages");
    if (instructions === undefined || !Array.isArray(messages)) throw notSent("anthropic", "body", request);
    return {
      instructions,
      definitions: definitionsOf(listOf(request, "tools").map(asRead)),
      parts: messages.flatMap((message) => listOf(message, "content").flatMap((block) => partOf(message, block))),
      isCached: listOf(messages.at(-1), "content").some((block) => fieldOf(block, "cache_control") !== undefined),
    };
  },
};

/** A declaration without what is for the API and not for the model. */
function asRead(tool: unknown): unknown {
  return isFields(tool) ? without(tool, "cache_control", "eager_input_streaming") : tool;
}

function partOf(message: unknown, block: unknown): RequestPart[] {
  const type = textOf(block, "type");
  const text = textOf(block, "text");
  if (type === "text" && text !== undefined)
    return textPart(textOf(message, "role") === "user" ? "said" : "words", text);
  const input = fieldOf(block, "input");
  const [id, name] = [textOf(block, "id"), textOf(block, "name")];
  if (type === "tool_use" && id !== undefined && name !== undefined && isFields(input))
    return [{ type: "call", callId: id, name, text: JSON.stringify(input) }];
  const [callId, content] = [textOf(block, "tool_use_id"), textOf(block, "content")];
  if (type === "tool_result" && callId !== undefined && content !== undefined)
    return [{ type: "result", callId, text: content }];
  throw notSent("anthropic", "content block", block);
}
