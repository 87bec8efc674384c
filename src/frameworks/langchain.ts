import { type LoopTool, runWithProgress, type WritableSchema, writableSchema } from "./program-tool.ts";

/** The arguments of LangChain's `tool(func, fields)`. */
export interface LangChainTool {
  /** Yields how far the program has come, and returns the text for the model. Rejects if the tool failed. */
  readonly func: (
    input: unknown,
    config?: { readonly signal?: AbortSignal },
  ) => AsyncGenerator<string, string, undefined>;
  readonly fields: { readonly name: string; readonly description: string; readonly schema: WritableSchema };
}

export function langChainTool(tool: LoopTool): LangChainTool {
  const { name, description } = tool;
  return {
    async *func(input, config) {
      const { running, progress } = runWithProgress(tool, input, config?.signal);
      yield* progress;
      return running;
    },
    fields: { name, description, schema: writableSchema(tool) },
  };
}
