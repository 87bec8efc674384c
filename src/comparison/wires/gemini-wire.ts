import { fieldOf, isFields, listOf, textOf } from "../../values/fields.ts";
import { gemini } from "../../models/provider/providers.ts";
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

/** Gemini's generateContent. */
export const geminiWire: Wire = {
  provider: "gemini",
  exact: false,
  connect: (fetch) => gemini(offline(fetch)),
  replyOf: ({ text, calls }, opening) => ({
    candidates: [
      {
        content: {
          role: "model",
          parts: [
            ...(text === "" ? [] : [{ text }]),
            ...calls.map((call) => ({
              functionCall: { id: call.id, name: givenName(call, opening), args: argumentsObject(call) },
            })),
          ],
        },
        finishReason: "STOP",
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
    modelVersion: "offline",
  }),
  partsOf(request) {
    const instruction = listOf(fieldOf(request, "systemInstruction"), "parts").map(
      (part) => textOf(part, "text") ?? "",
    );
    const contents = fieldOf(request, "contents");
    if (!isFields(fieldOf(request, "systemInstruction")) || !Array.isArray(contents))
      throw notSent("gemini", "body", request);
    const reader = new PartReader();
    return {
      instructions: instruction.join("\n"),
      definitions: definitionsOf(listOf(request, "tools")),
      parts: contents.flatMap((content) =>
        listOf(content, "parts").flatMap((part) => reader.read(textOf(content, "role"), part)),
      ),
      isCached: true,
    };
  },
};

/** Matches calls and results by their order if they have no ids. */
class PartReader {
  #calls = 0;
  #results = 0;

  read(role: string | undefined, part: unknown): RequestPart[] {
    const text = textOf(part, "text");
    if (text !== undefined) return textPart(role === "user" ? "said" : "words", text);
    const call = fieldOf(part, "functionCall");
    const [name, args] = [textOf(call, "name"), fieldOf(call, "args")];
    if (name !== undefined && isFields(args)) {
      this.#calls += 1;
      return [{ type: "call", callId: textOf(call, "id") ?? `call-${this.#calls}`, name, text: JSON.stringify(args) }];
    }
    const result = fieldOf(part, "functionResponse");
    const response = fieldOf(result, "response");
    if (isFields(response)) {
      this.#results += 1;
      const callId = textOf(result, "id") ?? `call-${this.#results}`;
      return [{ type: "result", callId, text: JSON.stringify(response) }];
    }
    throw notSent("gemini", "part", part);
  }
}
