import { PortcullisError } from "../base/index.ts";
import type { Owner } from "../journal/record.ts";
import { allowedTools } from "../executions/authority.ts";
import type { LimitChanges } from "../executions/limits.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import { CALLERS, type Tool } from "../tools/tool.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { Principal } from "./principal.ts";

/**
 * The runtime of a principal: with its tenant, its limits, and the tools that it may call, for its callers only. The journals
 * of its executions say whose they are. It begins nothing more once `ownerSignal` is aborted.
 */
export function runtimeFor(
  runtime: Runtime,
  principal: Principal,
  ownerSignal?: AbortSignal,
  more: Omit<Owner, "key"> = {},
): Runtime {
  const { id, tenant, limits } = principal;
  const above = limitAbove(limits, runtime.limits);
  if (above)
    throw new PortcullisError(
      "option_invalid",
      `limits of the key ${id}: ${above.name} may be at most ${above.most} here, and ${above.value} was given.`,
    );
  const tools = toolsOf(runtime, principal);
  return runtime.derive({ tenant, limits, tools }, { owner: { key: id, ...more }, ownerSignal });
}

/** The first limit above the allowed one: limits only narrow. */
export function limitAbove(limits: LimitChanges = {}, allowed: LimitChanges = {}) {
  for (const [name, value = 0] of Object.entries(limits)) {
    const most = allowed[name as keyof LimitChanges];
    if (most !== undefined && value > most) return { name, value, most };
  }
  return undefined;
}

/** The principal's part of the tools that exist now; undefined for all. */
function toolsOf(runtime: Runtime, principal: Principal): (() => readonly Tool[]) | undefined {
  const { id, tools: names, allowedCallers: callers = CALLERS } = principal;
  if (names === undefined && CALLERS.every((caller) => callers.includes(caller))) return undefined;
  // A name that no tool has is an error when the door opens. Later a source may drop a tool; its name then selects
  // none.
  if (names !== undefined) runtime.tools.select(names, `the tools of the key ${id}`);
  let narrowed: { readonly of: ToolSet; readonly tools: readonly Tool[] } | undefined;
  return () => {
    const of = runtime.tools;
    if (narrowed?.of !== of) narrowed = { of, tools: allowedTools(of.all, principal) };
    return narrowed.tools;
  };
}
