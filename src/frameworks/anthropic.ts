import type { LoopTool, WritableSchema } from "./program-tool.ts";

/** A runnable tool of `@anthropic-ai/sdk`, as `betaTool()` makes it. */
export interface AnthropicRunnable {
  readonly name: string;
  readonly description: string;
  readonly input_schema: WritableSchema;
  readonly parse: (input: unknown) => unknown;
  /** Rejects if the program failed: the runner's result has `is_error` then. */
  readonly run: (input: unknown, context?: AnthropicRunContext) => Promise<string>;
}

interface AnthropicRunContext {
  readonly signal?: AbortSignal | null | undefined;
}

export function anthropicRunnable(tool: LoopTool): AnthropicRunnable {
  return {
    name: tool.name,
    get description() {
      return tool.description;
    },
    input_schema: tool.schema,
    parse: (input) => input,
    run: (input, context) => tool.run(input, { signal: context?.signal }),
  };
}
