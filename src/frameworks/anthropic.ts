import type { LoopTool } from "./program-tool.ts";

/** A runnable tool of `@anthropic-ai/sdk`, as `betaTool()` makes it. */
export interface AnthropicRunnable {
  readonly name: string;
  readonly description: string;
  readonly input_schema: InputSchema;
  readonly parse: (input: unknown) => unknown;
  /** Rejects if the program failed: the runner's result has `is_error` then. */
  readonly run: (input: unknown, context?: AnthropicRunContext) => Promise<string>;
}

/** The types of the SDK take lists that may be written to. They take further fields only from a type, not from an interface. */
type InputSchema = {
  type: "object";
  properties: Record<string, unknown>;
  required: string[];
  additionalProperties: boolean;
};

interface AnthropicRunContext {
  readonly signal?: AbortSignal | null | undefined;
}

export function anthropicRunnable(tool: LoopTool): AnthropicRunnable {
  return {
    name: tool.name,
    description: tool.description,
    input_schema: { ...tool.schema, properties: { ...tool.schema.properties }, required: [...tool.schema.required] },
    parse: (input) => input,
    run: (input, context) => tool.run(input, { signal: context?.signal }),
  };
}
