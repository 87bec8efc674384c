import { fieldOf, listOf, textOf } from "../../values/fields.ts";
import type { ModelCall, Opening } from "../../models/model.ts";
import { openai } from "../../models/provider/providers.ts";
import { definitionsOf, givenName, notSent, offline, type RequestPart, textPart, type Wire } from "./wire.ts";

/** OpenAI's Responses API. */
export const openAiResponsesWire: Wire = {
  provider: "openai",
  exact: true,
  connect: (fetch) => openai(offline(fetch)),
  replyOf: ({ text, calls, end }, opening) => ({
    id: "resp_offline",
    object: "response",
    status: "completed",
    model: "offline",
    output: [
      // A reply without a message would be unfinished instead of an answer.
      ...(text === "" && end.type === "called" ? [] : [messageItem(text)]),
      ...calls.map((call) => callItem(call, opening)),
    ],
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  }),
  partsOf(request) {
    const instructions = textOf(request, "instructions");
    const input = fieldOf(request, "input");
    if (instructions === undefined || !Array.isArray(input)) throw notSent("openai", "body", request);
    return {
      instructions,
      definitions: definitionsOf(listOf(request, "tools")),
      parts: input.flatMap(partsOfItem),
      isCached: true,
    };
  },
};

function messageItem(text: string) {
  return {
    type: "message",
    id: "msg_offline",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
}

function callItem(call: ModelCall, opening: Opening) {
  const about = { id: `item_${call.id}`, call_id: call.id, name: givenName(call, opening), status: "completed" };
  return call.type === "program_call"
    ? { type: "custom_tool_call", ...about, input: call.source }
    : { type: "function_call", ...about, arguments: call.inputText };
}

function partsOfItem(item: unknown): RequestPart[] {
  const type = textOf(item, "type");
  const said = textOf(item, "content");
  if (textOf(item, "role") === "user" && said !== undefined) return textPart("said", said);
  if (type === "message")
    return listOf(item, "content").flatMap((part) => textPart("words", textOf(part, "text") ?? ""));
  const [callId, name] = [textOf(item, "call_id"), textOf(item, "name")];
  // An empty program has no input field.
  const input = type === "custom_tool_call" ? (textOf(item, "input") ?? "") : textOf(item, "arguments");
  if (type?.endsWith("_call") && callId !== undefined && name !== undefined && input !== undefined)
    return [{ type: "call", callId, name, text: input }];
  const output = textOf(item, "output");
  if (type?.endsWith("_call_output") && callId !== undefined && output !== undefined)
    return [{ type: "result", callId, text: output }];
  throw notSent("openai", "input item", item);
}
