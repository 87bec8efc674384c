/*
 * What an execution may do, its journal says. The scope of a driver after the first comes in, with the header; the scope in
 * which the execution goes on comes out: the narrower of both, and of what the key of its owner may do now.
 */
import type { Language } from "../../bridge/frames.ts";
import type { Header, ToolDigest } from "../journal/record.ts";
import { type Caller, CALLERS, type Tool } from "../tools/tool.ts";
import { ToolSet } from "../tools/tool-set.ts";
import { limitsOf, narrowedLimits } from "./limits.ts";
import { isNamedBy, type Rights, type Scope } from "./scope.ts";

/** The part of some tools that these rights leave, for their callers alone. */
export function allowedTools(tools: readonly Tool[], rights: Rights): readonly Tool[] {
  const { allowedCallers: callers = CALLERS } = rights;
  return tools.filter(({ name }) => isNamedBy(rights, name)).flatMap((tool) => forCallers(tool, callers));
}

function forCallers(tool: Tool, callers: readonly Caller[]): readonly Tool[] {
  const allowedCallers = tool.allowedCallers.filter((caller) => callers.includes(caller));
  if (allowedCallers.length === tool.allowedCallers.length) return [tool];
  return allowedCallers.length === 0 ? [] : [{ ...tool, allowedCallers }];
}

type DrivenScope = Pick<
  Scope,
  "gate" | "hostTools" | "limits" | "policies" | "language" | "signal" | "tenant" | "owner" | "owners" | "above"
>;

/** The scope in which a driver after the first drives an execution. `recorded` are its tools, if they have changed since its header. */
export function drivenScope<Own extends DrivenScope>(
  scope: Own,
  header: Exclude<Header, { readonly kind: "call" }>,
  recorded: readonly ToolDigest[] = header.tools,
): Own {
  const { gate, above, owners, tenant, hostTools = gate.tools } = scope;
  // What a call has started has no more than its caller, whose scope was narrowed.
  const { owner } = above ? scope : header;
  const now = above ? undefined : owners?.now(owner, tenant);
  const began = new Map(recorded.map((tool) => [tool.name, tool]));
  const candidates = [...began.values()].flatMap(({ name, callers = CALLERS }) => {
    const tool = gate.tools.get(name);
    return tool ? forCallers(tool, callers) : [];
  });
  // At a surface the tools are the client's own.
  const tools = now && !owner?.surface ? allowedTools(candidates, now) : candidates;
  return {
    ...scope,
    owner,
    hostTools,
    gate: gate.withTools(new ToolSet(tools)),
    limits: narrowedLimits(limitsOf(header), scope.limits, now?.limits),
    policies: policiesOf(scope.policies, header.policies),
    language: header.language as Language,
    signal: now ? AbortSignal.any([scope.signal, now.signal]) : scope.signal,
  };
}

/** A rule that is a function is not in the journal. Where one is lacking, a person decides about all calls. */
function policiesOf(policies: Scope["policies"] = [], begun: Header["policies"] = []): Scope["policies"] {
  const named = begun.filter((policy) => policy !== "function");
  const functions = policies.filter((policy) => typeof policy !== "string").length;
  const lacks = begun.length - named.length > functions;
  return [...new Set([...policies, ...named, ...(lacks ? (["ask-all"] as const) : [])])];
}
