import { fieldOf, textOf } from "../base/index.ts";
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
  programsOf: (node: string) => WaitingPrograms,
  interrupt: Interrupt,
): LangChainTool {
  /** Of each node that runs, when its latest program has asked all: a node has to ask in the same order each time. */
  const asking = new Map<string, Promise<void>>();
  return {
    // Nothing is yielded: a node that is interrupted would yield it again.
    // oxlint-disable-next-line require-yield
    async *func(input, config) {
      const code = codeOf(input);
      const callId = textOf(fieldOf(config, "toolCall"), "id") ?? "";
      const configurable = fieldOf(config, "configurable");
      // The namespace is that of this run of the node, over its interrupts, and in no other run.
      const node = JSON.stringify([textOf(configurable, "thread_id"), textOf(configurable, "checkpoint_ns")]);
      const programs = programsOf(node);
      const going = { rule: () => "unruled" as const, signal: config?.signal, before: asking.get(node) };
      const asked = Promise.withResolvers<void>();
      asking.set(node, asked.promise);
      try {
        return await runInterrupted(programs, interrupt, { id: programs.idOf(callId, code), code }, going);
      } finally {
        asked.resolve();
        if (asking.get(node) === asked.promise) asking.delete(node);
      }
    },
    fields: fieldsOf(tool),
  };
}

function fieldsOf(tool: LoopTool): LangChainTool["fields"] {
  return { name: tool.name, description: tool.description, schema: writableSchema(tool) };
}
