import type { AGENT_RULES, ResolvedAgentOptions } from "../conversations/agent-options.ts";
import type { AgentScope } from "../conversations/agent-scope.ts";
import {
  ignore,
  pick,
  type ExecutionId,
  optionError,
  optionsIn,
  PortcullisError,
  type CheckedOptions,
  type SlicedWork,
} from "../base/index.ts";
import type { Policy, PolicyName } from "../gate/approve/policy.ts";
import type { Gate } from "../gate/gate.ts";
import type { Owner } from "../journal/record.ts";
import type { Journal } from "../journal/journal.ts";
import type { Model } from "../models/model.ts";
import type { Owners, ProgramCheckMode } from "../executions/scope.ts";
import { EXECUTE_RULES } from "../executions/execute-options.ts";
import { resolveLimits } from "../executions/limits.ts";
import type { CurrentTools } from "../tools/current-tools.ts";
import type { ObservedResults } from "../tools/observed/tenant-results.ts";
import type { Tool } from "../tools/tool.ts";
import type { ToolFailure } from "../tools/tool-set.ts";
import type { FoundTool } from "../tools/search/tool-search.ts";
import type { SEARCH_TOOLS_RULES } from "./options.ts";
import type { HostObservers } from "./observers.ts";

const LANGUAGE_HINTS: ReadonlyMap<string, string> = new Map([
  ["python", ', or sandbox: "docker" for the runtime'],
  ["typescript", "; a program in TypeScript is given as javascript"],
]);

export type ScopeOptions = Partial<
  Pick<
    ResolvedAgentOptions<typeof AGENT_RULES>,
    "language" | "limits" | "tenant" | "signal" | "tools" | "context" | "approve" | "approvePrograms"
  >
> & {
  readonly model?: Pick<Model, "name"> | undefined;
  readonly id?: ExecutionId | undefined;
  readonly policy?: Policy | PolicyName | undefined;
  readonly checkPrograms?: ProgramCheckMode | undefined;
};

/** `gate` is the gate for the tools at first. */
export interface ScopeParts extends Pick<
  AgentScope,
  "sandbox" | "gate" | "leaseMs" | "limits" | "tenant" | "approve" | "policies" | "approvePrograms" | "checkPrograms"
> {
  readonly tools: CurrentTools;
  /** Whose executions the runtime begins, if it is a client of a server. */
  readonly owner?: Owner | undefined;
  readonly owners?: Owners | undefined;
  /** Aborted once that client may begin nothing more. Another one may have its id by then. */
  readonly ownerSignal?: AbortSignal | undefined;
}

export type RuntimeScopes = ReturnType<typeof runtimeScopes>;

/** `journal` redacts what is written, if the runtime does. */
export function runtimeScopes(
  parts: ScopeParts,
  journal: Journal,
  observers: HostObservers,
  observed: ObservedResults | undefined,
  closing: AbortSignal,
) {
  const onLeftOut = (failures: readonly ToolFailure[]) => observers.toolsLeftOut(failures);
  const base = baseScope(parts, journal, observers, closing);
  const gateNow = (): Gate => base.gate.of(parts.tools.renew(onLeftOut));
  const gateFor = (
    { tenant = base.tenant, context, model }: Pick<ScopeOptions, "tenant" | "context" | "model">,
    gate = gateNow(),
  ): Gate => gate.for({ tenant, context, model: model?.name }, base.onSwitchFailed);
  return {
    /** The scope of a method without options, with the gate for the tools at first. */
    base,
    gateFor,
    get gate() {
      return gateNow();
    },
    findTools: (query: string, limit: number | undefined, options: CheckedOptions<typeof SEARCH_TOOLS_RULES>) => {
      const { tenant = base.tenant } = options;
      const gate = gateFor({ tenant });
      return findTools(gate, { query, limit, ...options, tenant, shown: observed?.(tenant).shown });
    },
    shown: (tool: Tool): Tool => observed?.(base.tenant).shown(tool) ?? tool,
    /** The scope for the options of a method. `subject` is the method, for errors. */
    of(subject: string, options: ScopeOptions): AgentScope {
      const gate = gateNow();
      const changed = changedScope(base, subject, options);
      const selected = options.tools && gate.tools.select(options.tools, `${subject}({ tools })`);
      if (closing.aborted)
        throw new PortcullisError("runtime_closed", "The runtime is closed and takes no further programs.");
      const others = [options.signal, parts.ownerSignal].filter((one) => one !== undefined);
      return {
        ...changed,
        gate: gateFor(options, selected ? gate.withTools(selected) : gate),
        observed: observed?.(changed.tenant),
        signal: others.length === 0 ? closing : AbortSignal.any([...others, closing]),
      };
    },
  };
}

function baseScope(parts: ScopeParts, journal: Journal, observers: HostObservers, closing: AbortSignal): AgentScope {
  return {
    ...pick(parts, "sandbox", "gate", "leaseMs", "limits", "tenant", "owner", "owners"),
    ...pick(parts, "approve", "policies", "approvePrograms", "checkPrograms"),
    journal,
    context: undefined,
    redactor: observers.redactor,
    telemetry: undefined,
    observed: undefined,
    language: EXECUTE_RULES.language.default,
    signal: closing,
    onEvent: ignore,
    onSwitchFailed: (failed) => observers.switchFailed(failed),
    artifacts: undefined,
    above: undefined,
  };
}

/** The base scope with what the options of a method change of it. */
function changedScope(base: AgentScope, subject: string, options: ScopeOptions): AgentScope {
  const { sandbox } = base;
  const { language = base.language, tenant = base.tenant, limits, context, policy } = options;
  if (options.language !== undefined && !sandbox.languages.includes(language))
    throw optionError(
      `${subject}({ language })`,
      `one that the ${sandbox.name} sandbox runs (${sandbox.languages.join(", ")})${LANGUAGE_HINTS.get(language) ?? ""}`,
      language,
    );
  return {
    ...base,
    language,
    tenant,
    context,
    limits: resolveLimits(base.limits, limits, optionsIn(subject, "limits")),
    approve: options.approve ?? base.approve,
    policies: policy === undefined ? base.policies : [...(base.policies ?? []), policy],
    approvePrograms: options.approvePrograms ?? base.approvePrograms,
    checkPrograms: options.checkPrograms ?? base.checkPrograms,
  };
}

async function findTools(
  { held, search }: Gate,
  asked: Omit<Parameters<Gate["search"]["find"]>[0], "work" | "onError">,
): Promise<readonly FoundTool[]> {
  const share = held.share(asked.tenant, 0);
  try {
    const work = <Value>(slices: SlicedWork<Value>) => share.lane.work(slices);
    const onError = (error: unknown) => {
      throw error;
    };
    return await search.find({ ...asked, work, onError });
  } finally {
    share.end();
  }
}
