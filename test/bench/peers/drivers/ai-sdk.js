/* @ai-sdk/code-mode: QuickJS in WebAssembly on worker threads. */
import {
  experimental_runCodeMode as runCodeMode,
  experimental_setMaxWorkers as setMaxWorkers,
} from "@ai-sdk/code-mode";
import { tool } from "ai";
import { z } from "zod";

export async function open({ tools, timeoutMs, memoryMb }) {
  setMaxWorkers(64);
  const given = Object.fromEntries(
    Object.entries(tools).map(([name, execute]) => [
      name,
      tool({ description: name, inputSchema: z.looseObject({}), execute: async (input) => execute(input) }),
    ]),
  );
  const executionPolicy = {
    timeoutMs,
    memoryLimitBytes: memoryMb * 1024 * 1024,
    maxBridgeRequests: 1_000_000,
    maxInFlightBridgeRequests: 2000,
    maxToolOutputBytes: 64 << 20,
    maxResultBytes: 64 << 20,
  };
  return {
    tool: (name) => `tools.${name}`,
    execute: (program) => runCodeMode({ js: program, tools: given, options: { executionPolicy } }),
  };
}
