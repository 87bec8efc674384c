import { CONTINUE_PROGRAM } from "../tools/tool-name.ts";
import { jsonSchema, type Schema } from "../tools/schema.ts";
import { aiSdkRule, callIn, deniedCalls, type ToolApproval } from "./approval/ai-sdk-approval.ts";
import { CONTINUE_DESCRIPTION, CONTINUE_SCHEMA, type PausingTools } from "./approval/pausing-tools.ts";
import { type LoopTool, type RunOptions, runWithProgress } from "./program-tool.ts";

/** A tool of the AI SDK, with the fields that `tool()` takes. */
export interface AiSdkTool<Input = { readonly code: string }> {
  readonly description: string;
  readonly inputSchema: Schema<Input>;
  /**
   * Mastra takes the result as a promise of the text for the model. The AI SDK takes it as an iterable: this yields how far
   * the program has come, as preliminary results, and at last the text. Both reject if the program failed.
   */
  readonly execute: (input: Input, options?: AiSdkCallOptions) => AsyncIterable<string> & Promise<string>;
  /** With `toolApproval`, for that of `generateText` and `streamText`: its reason says what the person is asked. */
  readonly approval?: AiSdkApproval<Input>;
  /** With `toolApproval`: asked by the AI SDK if its own `toolApproval` does not name this tool. */
  readonly needsApproval?: (input: Input, options: AiSdkCallOptions) => Promise<boolean>;
}

export type AiSdkApproval<Input> = (
  input: Input,
  options: AiSdkCallOptions,
) => Promise<"not-applicable" | { readonly type: "user-approval"; readonly reason: string }>;

export interface AiSdkCallOptions {
  readonly abortSignal?: AbortSignal | undefined;
  readonly toolCallId?: string | undefined;
  readonly messages?: readonly unknown[] | undefined;
}

export function aiSdkTool<Input>(tool: LoopTool): AiSdkTool<Input> {
  return {
    get description() {
      return tool.description;
    },
    inputSchema: jsonSchema<Input>(tool.schema),
    execute: (input, { abortSignal } = {}) => running(tool, input, abortSignal),
  };
}

function running(tool: Pick<LoopTool, "run">, input: unknown, abortSignal: AbortSignal | undefined) {
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
}

/** `run_program` and `continue_program`, whose calls a person approves by the AI SDK's own means. */
export function aiSdkPausingTools(program: LoopTool, pausing: PausingTools, toolApproval: ToolApproval) {
  const toolOf = <Input>(name: string, about: Pick<LoopTool, "description" | "schema">): AiSdkTool<Input> => {
    const goingOf = ({ messages = [] }: AiSdkCallOptions, { signal, onProgress }: RunOptions = {}) => {
      let calls = 0;
      return {
        rule: aiSdkRule(toolApproval, messages),
        signal,
        onCall: (tool: string) => {
          calls += 1;
          onProgress?.({ calls, text: `Call ${calls}: ${tool}` });
        },
      };
    };
    const callOf = (input: unknown, { toolCallId = "", messages = [] }: AiSdkCallOptions) =>
      callIn(messages, { name, callId: toolCallId, input });
    const approval: AiSdkApproval<Input> = async (input, options) => {
      for (const { call, reason } of deniedCalls(options.messages ?? [])) await pausing.deny(call, reason);
      const question = await pausing.question(callOf(input, options), goingOf(options));
      return question === undefined ? "not-applicable" : { type: "user-approval", reason: question };
    };
    return {
      get description() {
        return about.description;
      },
      inputSchema: jsonSchema<Input>(about.schema),
      approval,
      needsApproval: async (input, options) => (await approval(input, options)) !== "not-applicable",
      execute: (input, options = {}) => {
        const call = callOf(input, options);
        const run = (_: unknown, work: RunOptions) => pausing.run(call, goingOf(options, work), call.isApproved);
        return running({ run }, input, options.abortSignal);
      },
    };
  };
  return {
    run_program: toolOf<{ readonly code: string }>(program.name, program),
    [CONTINUE_PROGRAM]: toolOf<{ readonly program: string }>(CONTINUE_PROGRAM, {
      description: CONTINUE_DESCRIPTION,
      schema: CONTINUE_SCHEMA,
    }),
  };
}
