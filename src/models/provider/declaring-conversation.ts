import type { Fields } from "../../base/index.ts";
import type { CallResult, Opening, ToolDeclaration } from "../model.ts";
import { PROGRAM_SCHEMA } from "../turn/program-input.ts";
import type { ToolNames } from "../turn/tool-names.ts";
import { ProviderConversation, type ProviderReply } from "./provider-conversation.ts";

export type NamedTool = Pick<ToolDeclaration, "name" | "description" | "inputSchema" | "textFormat">;

/** Of a provider that cannot hide tools: a deferred tool is declared once a search has found it. */
export abstract class DeclaringConversation<Reply extends ProviderReply, Client> extends ProviderConversation<
  Reply,
  Client
> {
  /** The declarations, the same in every request. */
  protected declarations = this.#declare(this.opening, this.names);

  /** `name` is the one that the provider accepts. */
  protected abstract declareTool(tool: NamedTool): Fields;

  #declare({ tools, runProgram }: Pick<Opening, "tools" | "runProgram">, names: ToolNames): readonly Fields[] {
    const named = tools.map((tool) => ({ ...tool, name: names.given(tool.name) }));
    const all = runProgram ? [{ ...runProgram, inputSchema: PROGRAM_SCHEMA }, ...named] : named;
    return all.map((tool) => this.declareTool(tool));
  }

  protected prepareTools(opening: Opening, names: ToolNames): () => void {
    const declared = this.#declare(opening, names);
    return () => {
      this.declarations = [...declared, ...this.#declare({ tools: this.foundOf(opening) }, names)];
    };
  }

  protected override openCall(providedId: string | undefined, toBlock: (result: CallResult) => Fields): string {
    return super.openCall(providedId, (result) => {
      const found = this.#declare({ tools: this.foundFirst(result) }, this.names);
      this.declarations = [...this.declarations, ...found];
      return toBlock(result);
    });
  }
}
