import type { AGENT_RULES, ResolvedAgentOptions } from "../conversations/agent-options.ts";
import type { AgentScope } from "../conversations/agent-scope.ts";
import {
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
  const onLeftOut = (left: readonly ToolFailure[]) => observers.toolsLeftOut(left);
  const base: AgentScope = {
    ...pick(parts, "sandbox", "gate", "leaseMs", "limits", "tenant", "owner", "owners"),
    ...pick(parts, "approve", "policies", "approvePrograms", "checkPrograms"),
    journal,
    context: undefined,
    redactor: observers.redactor,
    telemetry: undefined,
    observed: undefined,
    language: EXECUTE_RULES.language.default,
    signal: closing,
    onEvent: () => {},
    onSwitchFailed: (failed) => observers.switchFailed(failed),
    artifacts: undefined,
    above: undefined,
  };
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
    async findTools(
      query: string,
      limit: number | undefined,
      { caller, language, tenant = base.tenant }: CheckedOptions<typeof SEARCH_TOOLS_RULES>,
    ): Promise<readonly FoundTool[]> {
      const gate = gateNow();
      const share = gate.held.share(tenant, 0);
      try {
        const work = <Value>(slices: SlicedWork<Value>) => share.lane.work(slices);
        const onError = (error: unknown) => {
          throw error;
        };
        const { search } = gateFor({ tenant }, gate);
        const shown = observed?.of(tenant).shown;
        return await search.find({ query, limit, caller, tenant, language, shown, work, onError });
      } finally {
        share.end();
      }
    },
    shown(tool: Tool): Tool {
      return observed?.of(base.tenant).shown(tool) ?? tool;
    },
    /** The scope for the options of a method. `subject` is the method, for errors. */
    of(subject: string, options: ScopeOptions): AgentScope {
      const gate = gateNow();
      const { sandbox } = base;
      const { language = base.language, tenant = base.tenant, limits, tools, context, policy } = options;
      if (!sandbox.languages.includes(language) && options.language !== undefined)
        throw optionError(
          `${subject}({ language })`,
          `one that the ${sandbox.name} sandbox runs (${sandbox.languages.join(", ")})${LANGUAGE_HINTS.get(language) ?? ""}`,
          language,
        );
      const changed = resolveLimits(base.limits, limits, optionsIn(subject, "limits"));
      const selected = tools && gate.tools.select(tools, `${subject}({ tools })`);
      if (closing.aborted)
        throw new PortcullisError("runtime_closed", "The runtime is closed and takes no further programs.");
      const others = [options.signal, parts.ownerSignal].filter((one) => one !== undefined);
      return {
        ...base,
        gate: gateFor(options, selected ? gate.beside(selected) : gate),
        language,
        limits: changed,
        tenant,
        observed: observed?.of(tenant),
        context,
        approve: options.approve ?? base.approve,
        policies: policy === undefined ? base.policies : [...(base.policies ?? []), policy],
        approvePrograms: options.approvePrograms ?? base.approvePrograms,
        checkPrograms: options.checkPrograms ?? base.checkPrograms,
        signal: others.length === 0 ? closing : AbortSignal.any([...others, closing]),
      };
    },
  };
}
