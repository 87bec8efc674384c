import type { Fields } from "../../base/index.ts";
import type { Opening, ToolDeclaration } from "../model.ts";
import { PROGRAM_SCHEMA } from "../turn/program-input.ts";
import { ProviderConversation, type ProviderReply } from "./provider-conversation.ts";

export type NamedTool = Pick<ToolDeclaration, "name" | "description" | "inputSchema" | "textFormat">;

/** Of a provider that cannot hide tools: a deferred tool is declared once a search has found it. */
export abstract class DeclaringConversation<Reply extends ProviderReply, Client> extends ProviderConversation<
  Reply,
  Client
> {
  protected declarations = this.#declare(this.opening);

  protected abstract declareTool(tool: NamedTool): Fields;

  #declare({ tools, runProgram }: Pick<Opening, "tools" | "runProgram">): readonly Fields[] {
    const named = tools.map((tool) => ({ ...tool, name: this.names.aliasOf(tool.name) }));
    const all = runProgram ? [{ ...runProgram, inputSchema: PROGRAM_SCHEMA }, ...named] : named;
    return all.map((tool) => this.declareTool(tool));
  }

  protected override declareFound(tools: readonly ToolDeclaration[]): void {
    this.declarations = [...this.declarations, ...this.#declare({ tools })];
  }
}
