/* This package, as anybody would use it. */
import { createRuntime, defineTool } from "../../../../dist/src/index.js";
import { createIsolateSandbox } from "../../../../dist/src/sandboxes.js";
import { z } from "zod";

export async function open({ tools, timeoutMs, memoryMb }, options = {}) {
  const sandbox = createIsolateSandbox(options);
  const runtime = await createRuntime({
    sandbox,
    limits: { cpuMs: timeoutMs, wallMs: timeoutMs * 2, memoryBytes: memoryMb * 1024 * 1024 },
    tools: Object.entries(tools).map(([name, handler]) =>
      defineTool({
        name,
        description: name,
        inputSchema: z.looseObject({}),
        allowedCallers: ["programmatic"],
        effect: "read",
        execute: handler,
      }),
    ),
  });
  return {
    tool: (name) => `tools.${name}`,
    async execute(program) {
      const { outcome } = await runtime.execute(program);
      if (outcome.type !== "completed") throw new Error(JSON.stringify(outcome));
      return outcome.value;
    },
    async close() {
      await runtime[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}
