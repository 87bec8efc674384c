import { fieldOf, textOf } from "../values/fields.ts";
import { type Interrupt, runInterrupted } from "./approval/langchain-approval.ts";
import type { WaitingPrograms } from "./approval/waiting-programs.ts";
import { codeOf, type LoopTool, runWithProgress, type WritableSchema, writableSchema } from "./program-tool.ts";

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
  return {
    async *func(input, config) {
      const { running, progress } = runWithProgress(tool, input, config?.signal);
      yield* progress;
      return running;
    },
    fields: fieldsOf(tool),
  };
}

/** Like `langChainTool`, for a graph with a checkpointer: a call that waits for a person interrupts the node. */
export function langChainPausingTool(
  tool: LoopTool,
  programsOf: (thread: string | undefined) => WaitingPrograms,
  interrupt: Interrupt,
): LangChainTool {
  return {
    // Nothing is yielded: a node that is interrupted would yield it again.
    // oxlint-disable-next-line require-yield
    async *func(input, config) {
      const programs = programsOf(textOf(fieldOf(config, "configurable"), "thread_id"));
      const callId = textOf(fieldOf(config, "toolCall"), "id") ?? "";
      const code = codeOf(input);
      const going = { rule: () => "unruled" as const, signal: config?.signal };
      return runInterrupted(programs, interrupt, { id: programs.idOf(callId, code), code }, going);
    },
    fields: fieldsOf(tool),
  };
}

function fieldsOf(tool: LoopTool): LangChainTool["fields"] {
  return { name: tool.name, description: tool.description, schema: writableSchema(tool) };
}
