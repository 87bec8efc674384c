import type { Runtime } from "../../runtime.ts";
import { CALLERS, type Tool } from "../../tools/tool.ts";
import type { Principal } from "../principal.ts";

/** The runtime with the tools that a principal may use, as the callers that it may be. */
export function runtimeFor(runtime: Runtime, { id, tools: names, callers = CALLERS }: Principal): Runtime {
  if (names === undefined && CALLERS.every((caller) => callers.includes(caller))) return runtime;
  const selected = names === undefined ? runtime.tools : runtime.tools.select(names, `the tools of the key ${id}`);
  const tools = selected.all.flatMap((tool): Tool[] => {
    const allowedCallers = tool.allowedCallers.filter((caller) => callers.includes(caller));
    if (allowedCallers.length === tool.allowedCallers.length) return [tool];
    return allowedCallers.length === 0 ? [] : [{ ...tool, allowedCallers }];
  });
  return runtime.derive({ tools });
}
