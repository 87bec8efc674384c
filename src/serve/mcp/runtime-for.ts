import type { Runtime } from "../../runtime.ts";
import { CALLERS, type Tool } from "../../tools/tool.ts";
import type { Principal } from "../principal.ts";

/** The runtime as a principal has it: for its tenant and with its limits, and with the tools that it may use, as the callers that it may be. */
export function runtimeFor(runtime: Runtime, principal: Principal): Runtime {
  const { tenant, limits } = principal;
  const tools = toolsOf(runtime, principal);
  return runtime.derive({ tenant, ...(limits ? { limits } : {}), ...(tools ? { tools } : {}) });
}

/** Undefined for all tools. */
function toolsOf(
  { tools: all }: Runtime,
  { id, tools: names, callers = CALLERS }: Principal,
): readonly Tool[] | undefined {
  if (names === undefined && CALLERS.every((caller) => callers.includes(caller))) return undefined;
  const selected = names === undefined ? all : all.select(names, `the tools of the key ${id}`);
  return selected.all.flatMap((tool): Tool[] => {
    const allowedCallers = tool.allowedCallers.filter((caller) => callers.includes(caller));
    if (allowedCallers.length === tool.allowedCallers.length) return [tool];
    return allowedCallers.length === 0 ? [] : [{ ...tool, allowedCallers }];
  });
}
