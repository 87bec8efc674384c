import { type Fields, textOf } from "../../base/index.ts";
import type { CallResult, ModelCall } from "../model.ts";
import { DeclaringConversation, type NamedTool } from "../provider/declaring-conversation.ts";
import type { ProviderReply } from "../provider/provider-conversation.ts";
import { flatSchema } from "./flat-schema.ts";
import type { GeminiClient } from "./request.ts";

/** What both protocols of Gemini have alike: the declarations of tools, and calls of functions. */
export abstract class GeminiProtocol<Reply extends ProviderReply> extends DeclaringConversation<Reply, GeminiClient> {
  protected declareTool({ name, description, input }: NamedTool): Fields {
    return { name, description, parametersJsonSchema: flatSchema(input) };
  }

  /** The mode `VALIDATED` holds all calls. */
  protected looseIn(): readonly string[] {
    return [];
  }

  /** Reads a call of a function. `resultOf` gives its result as the protocol has it. */
  protected callOf(call: Fields, inputText: string, resultOf: (result: CallResult) => Fields): ModelCall {
    return this.callNamed(this.openCall(textOf(call, "id"), resultOf), textOf(call, "name") ?? "", inputText);
  }
}
