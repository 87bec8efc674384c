/* @tanstack/ai-isolate-node: isolated-vm in the host's process. */
import { createNodeIsolateDriver } from "@tanstack/ai-isolate-node";

export async function open({ tools, timeoutMs, memoryMb }) {
  const driver = createNodeIsolateDriver({ memoryLimit: memoryMb, timeout: timeoutMs });
  const bindings = Object.fromEntries(
    Object.entries(tools).map(([name, execute]) => [
      name,
      { name, description: name, inputSchema: { type: "object" }, execute: async (input) => execute(input) },
    ]),
  );
  return {
    tool: (name) => name,
    async execute(program) {
      const context = await driver.createContext({ bindings });
      try {
        const { success, value, error } = await context.execute(program);
        if (!success) throw new Error(error?.message ?? "it failed");
        return value;
      } finally {
        await context.dispose();
      }
    },
  };
}
