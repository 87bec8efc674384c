import { PROGRAM_SCHEMA } from "../models/program-input.ts";
import { jsonSchema, type Schema } from "../tools/schema.ts";
import { Latest } from "./latest.ts";
import type { ProgramTool } from "./program-tool.ts";

/** A tool of the AI SDK, with the fields that `tool()` takes. */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: Schema<{ readonly code: string }>;
  /** Yields how far the program has come, as preliminary results; the last text is the result. Throws if it failed. */
  readonly execute: (input: { readonly code: string }, options: AiSdkCallOptions) => AsyncGenerator<string, void>;
}

interface AiSdkCallOptions {
  readonly abortSignal?: AbortSignal | undefined;
}

export function aiSdkTool(program: ProgramTool): AiSdkTool {
  return {
    description: program.description,
    inputSchema: jsonSchema<{ readonly code: string }>(PROGRAM_SCHEMA),
    async *execute(input, { abortSignal }) {
      // A loop that stops reading results cancels the program too.
      const left = new AbortController();
      const signal = abortSignal ? AbortSignal.any([abortSignal, left.signal]) : left.signal;
      const progress = new Latest<string>();
      const running = program.run(input, { signal, onProgress: ({ text }) => progress.set(text) });
      // The rejection is for `await running` below; ended here, it would otherwise count as unhandled.
      running.catch(() => {}).finally(() => progress.end());
      try {
        yield* progress;
        yield await running;
      } finally {
        left.abort();
      }
    },
  };
}
