import {
  createRuntime,
  type AgentOptions,
  type AgentReport,
  type ExecuteOptions,
  type Report,
  type Runtime,
  type RuntimeOptions,
} from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";

type Tools = RuntimeOptions["tools"];
type More = Partial<RuntimeOptions>;

/** A runtime with these tools, whose programs run in this process, but for what is said here. */
export const runtimeWith = (tools: Tools, more: More = {}): Promise<Runtime> =>
  createRuntime({ tools, sandbox: createMemorySandbox(), ...more });

/** What becomes of a program of a runtime that has nothing else to do. */
export async function executed(tools: Tools, source: string, options?: ExecuteOptions, more?: More): Promise<Report> {
  await using runtime = await runtimeWith(tools, more);
  return await runtime.execute(source, options);
}

/** What becomes of a task of a runtime that has nothing else to do. */
export async function answered(tools: Tools, options: AgentOptions, more?: More): Promise<AgentReport> {
  await using runtime = await runtimeWith(tools, more);
  return await runtime.agent(options);
}
