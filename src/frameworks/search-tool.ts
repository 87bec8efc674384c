import { RESULTS } from "../agent/prompt/instructions.ts";
import { PortcullisError } from "../errors.ts";
import type { CallAnswer } from "../gate/call-tool.ts";
import type { ToolDeclaration } from "../models/model.ts";
import { cleanJson } from "../output/clean-json.ts";
import { SEARCH_INPUT } from "../tools/search/search-tool.ts";
import type { LoopTool, RunOptions } from "./program-tool.ts";

export type SearchCall = (input: unknown, signal: AbortSignal | undefined) => Promise<CallAnswer>;

/** `search_tools` as all loops share it. */
export class LoopSearch implements LoopTool {
  readonly name: string;
  readonly description: string;
  readonly schema = SEARCH_INPUT;
  readonly isStrict = false;
  readonly #call: SearchCall;

  constructor({ name, description }: ToolDeclaration, call: SearchCall) {
    this.name = name;
    this.description = `${description}\n\n${RESULTS}`;
    this.#call = call;
  }

  async run(input: unknown, { signal }: RunOptions): Promise<string> {
    signal?.throwIfAborted();
    const answer = await this.#call(input ?? null, signal ?? undefined);
    if (answer.ok) return cleanJson(JSON.stringify(answer.value));
    signal?.throwIfAborted();
    throw new PortcullisError("tool_failed", answer.message);
  }
}
