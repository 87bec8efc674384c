import { type Fields, textOf } from "../../values/fields.ts";
import type { CallResult, ModelCall, Opening } from "../model.ts";
import { ProviderConversation, type ProviderReply } from "../provider/provider-conversation.ts";
import { sourceOf } from "../turn/program-input.ts";
import type { ToolNames } from "../turn/tool-names.ts";
import { declareFunction, declareTools, type GeminiClient } from "./request.ts";

/** What both protocols of Gemini have alike: the declarations of tools, and calls of functions. */
export abstract class GeminiProtocol<Reply extends ProviderReply> extends ProviderConversation<Reply, GeminiClient> {
  protected declarations = declareTools(this.opening, this.names);

  protected prepareTools(opening: Opening, names: ToolNames): () => void {
    const declared = declareTools(opening, names);
    return () => {
      this.declarations = [...declared, ...this.foundOf(opening).map((tool) => declareFunction(tool, names))];
    };
  }

  /** The mode `VALIDATED` holds all calls. */
  protected looseIn(): readonly string[] {
    return [];
  }

  /** Reads a call of a function. `resultOf` gives its result as the protocol has it. */
  protected callOf(call: Fields, inputText: string, resultOf: (result: CallResult) => Fields): ModelCall {
    const id = this.openCall(textOf(call, "id"), (result) => {
      // The provider cannot hide tools, so a deferred tool is declared once a search has found it.
      const found = this.foundFirst(result).map((tool) => declareFunction(tool, this.names));
      this.declarations = [...this.declarations, ...found];
      return resultOf(result);
    });
    const name = textOf(call, "name") ?? "";
    if (name === this.opening.runProgram?.name) return { type: "program_call", id, source: sourceOf(inputText) };
    return { type: "tool_call", id, tool: this.names.own(name), caller: "direct", inputText };
  }
}
