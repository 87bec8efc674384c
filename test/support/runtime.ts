import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";

/** A runtime with these tools, whose programs run in this process, but for what is said here. */
export const runtimeWith = (tools: RuntimeOptions["tools"], more: Partial<RuntimeOptions> = {}): Promise<Runtime> =>
  createRuntime({ tools, sandbox: createMemorySandbox(), ...more });
