import { jsonSchema, type Schema } from "../tools/schema.ts";
import { type LoopTool, runWithProgress } from "./program-tool.ts";

/** A tool of the AI SDK, with the fields that `tool()` takes. */
export interface AiSdkTool<Input = { readonly code: string }> {
  readonly description: string;
  readonly inputSchema: Schema<Input>;
  /**
   * Mastra takes the result as a promise of the text for the model. The AI SDK takes it as an iterable: this yields how far
   * the program has come, as preliminary results, and at last the text. Both reject if the program failed.
   */
  readonly execute: (input: Input, options?: AiSdkCallOptions) => AsyncIterable<string> & Promise<string>;
}

interface AiSdkCallOptions {
  readonly abortSignal?: AbortSignal | undefined;
}

export function aiSdkTool<Input>(tool: LoopTool): AiSdkTool<Input> {
  return {
    description: tool.description,
    inputSchema: jsonSchema<Input>(tool.schema),
    execute(input, { abortSignal } = {}) {
      // A loop that stops reading the iterable cancels the program too.
      const left = new AbortController();
      const signal = abortSignal ? AbortSignal.any([abortSignal, left.signal]) : left.signal;
      const { running, progress } = runWithProgress(tool, input, signal);
      return Object.assign(running, {
        async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
          try {
            yield* progress;
            yield await running;
          } finally {
            left.abort();
          }
        },
      });
    },
  };
}
