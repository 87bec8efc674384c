import { optionsIn, pick, PortcullisError, readOptions } from "../base/index.ts";
import { placesOf } from "./work-under-way.ts";
import { createMemoryJournal } from "../journal/memory-journal.ts";
import { preparingThread } from "../executions/prepare/preparing-thread.ts";
import { defaultLimitsFor, resolveLimits } from "../executions/limits.ts";
import { RUNTIME_RULES, type RuntimeOptions, SEARCH_RULES } from "./options.ts";
import type { Runtime } from "./runtime.ts";
import { createIsolateSandbox } from "../sandboxes/isolate/isolate-sandbox.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { capturesOf } from "../gate/telemetry/options.ts";
import { currentTools } from "../tools/current-tools.ts";

export {
  type CallOptions,
  type DeriveOptions,
  type SearchToolsOptions,
  type RuntimeOptions,
  type SearchOptions,
} from "./options.ts";
export type { ExecutionHandle } from "./execution-handle.ts";
export type { Runtime } from "./runtime.ts";
export { PLACES_RULES } from "./work-under-way.ts";

export const LEASE_MS = RUNTIME_RULES.leaseMs;

/**
 * Creates a runtime: tools behind one gate, a sandbox to run programs in, and a journal. Rejects with a
 * `PortcullisError` if an option is invalid or the sandbox cannot run on this machine. Dispose of it with `await using`.
 */
export async function createRuntime<Context = unknown>(options: RuntimeOptions<Context>): Promise<Runtime<Context>> {
  const read = readOptions("createRuntime", options, RUNTIME_RULES);
  const { fleet, heldBytes, stubTokens, tenant = "default" } = read;
  if (fleet && read.journal)
    throw new PortcullisError(
      "option_invalid",
      "createRuntime: give a fleet or a journal: a fleet has its own journal.",
    );
  await fleet?.open();
  const journal = fleet?.journal ?? read.journal ?? createMemoryJournal();
  const search = readOptions(optionsIn("createRuntime", "search"), read.search ?? {}, SEARCH_RULES);
  const tools = currentTools(read.tools, "createRuntime({ tools })");
  const limits = resolveLimits(defaultLimitsFor(journal), read.limits, optionsIn("createRuntime", "limits"));
  const places = placesOf(read.executions);
  const captures = capturesOf(read.telemetry);
  const sandbox = await sandboxOf(read.sandbox ?? "isolate");
  const ownsSandbox = sandbox !== read.sandbox;
  try {
    // The first engine takes longest to start, so everything else is loaded after it has been started.
    const warming = sandbox.warm?.();
    // A thread that cannot be started rejects like a sandbox that cannot: if both fail, the sandbox says what is wrong.
    const reading = async () => preparingThread.start();
    const [, , { Runtime, openGate }] = await Promise.all([warming, reading(), import("./runtime.ts")]);
    const { policy, logger } = read;
    if (logger && sandbox.remark !== undefined)
      (logger.warn ?? logger.error)({ tool: "", execution: "", callId: "", code: "sandbox_weak" }, sandbox.remark);
    const gate = openGate(tools, heldBytes, { ...search, stubTokens }, fleet);
    return new Runtime<Context>({
      ...pick(read, "approve", "approvePrograms", "checkPrograms", "leaseMs", "onEvent", "logger", "redact"),
      sandbox,
      ownsSandbox,
      tools,
      gate,
      journal,
      limits,
      tenant,
      policies: policy === undefined ? undefined : [policy],
      places,
      captures,
      fleet,
      observeResults: read.observeResults ?? journal.isDurable === true,
      parent: undefined,
    });
  } catch (error) {
    if (ownsSandbox) await sandbox[Symbol.asyncDispose]();
    throw error;
  }
}

async function sandboxOf(sandbox: "isolate" | "docker" | Sandbox): Promise<Sandbox> {
  if (sandbox === "isolate") return createIsolateSandbox();
  if (sandbox !== "docker") return sandbox;
  const { createDockerSandbox } = await import("../sandboxes/docker/docker-sandbox.ts");
  return createDockerSandbox();
}
