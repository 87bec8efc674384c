/* @utcp/code-mode: its registry replaced by plain functions, so a lower bound. */
import { CodeModeUtcpClient } from "@utcp/code-mode";

export async function open({ tools, timeoutMs, memoryMb }) {
  const client = await CodeModeUtcpClient.create();
  const definitions = Object.keys(tools).map((name) => ({
    name: `bench.${name}`,
    description: name,
    inputs: { type: "object", properties: {} },
    outputs: { type: "object" },
    tags: [],
  }));
  client.getTools = async () => definitions;
  client.callTool = async (name, input) => tools[name.slice("bench.".length)](input);
  return {
    tool: (name) => `bench.${name}`,
    async execute(program) {
      const { result, logs } = await client.callToolChain(program, timeoutMs, memoryMb);
      const failure = logs.find((line) => line.startsWith("[ERROR] Code execution failed"));
      if (failure) throw new Error(failure);
      return result;
    },
  };
}
