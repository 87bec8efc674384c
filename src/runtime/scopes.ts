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

export class RuntimeScopes {
  /** The scope of a method without options, with the gate for the tools at first. */
  readonly base: AgentScope;
  readonly #tools: CurrentTools;
  readonly #onLeftOut: Parameters<CurrentTools["renew"]>[0];
  readonly #observed: ObservedResults | undefined;
  readonly #ownerSignal: AbortSignal | undefined;

  /** `journal` redacts what is written, if the runtime does. */
  constructor(
    parts: ScopeParts,
    journal: Journal,
    observers: HostObservers,
    observed: ObservedResults | undefined,
    closing: AbortSignal,
  ) {
    this.#tools = parts.tools;
    this.#onLeftOut = (left) => observers.toolsLeftOut(left);
    this.#observed = observed;
    this.#ownerSignal = parts.ownerSignal;
    this.base = {
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
  }

  get gate(): Gate {
    return this.base.gate.of(this.#tools.renew(this.#onLeftOut));
  }

  gateFor(
    { tenant = this.base.tenant, context, model }: Pick<ScopeOptions, "tenant" | "context" | "model">,
    gate = this.gate,
  ): Gate {
    return gate.for({ tenant, context, model: model?.name }, this.base.onSwitchFailed);
  }

  async findTools(
    query: string,
    limit: number | undefined,
    { caller, language, tenant = this.base.tenant }: CheckedOptions<typeof SEARCH_TOOLS_RULES>,
  ): Promise<readonly FoundTool[]> {
    const share = this.gate.held.share(tenant, 0);
    try {
      const work = <Value>(slices: SlicedWork<Value>) => share.lane.work(slices);
      const onError = (error: unknown) => {
        throw error;
      };
      const { search } = this.gateFor({ tenant });
      const shown = this.#observed?.of(tenant).shown;
      return await search.find({ query, limit, caller, tenant, language, shown, work, onError });
    } finally {
      share.end();
    }
  }

  shown(tool: Tool): Tool {
    return this.#observed?.of(this.base.tenant).shown(tool) ?? tool;
  }

  /** The scope for the options of a method. `subject` is the method, for errors. */
  of(subject: string, options: ScopeOptions): AgentScope {
    const { base, gate } = this;
    const { sandbox, signal: closing } = base;
    const { language, tenant, signal, limits, tools, context, approve, policy, approvePrograms } = options;
    if (language !== undefined && !sandbox.languages.includes(language))
      throw optionError(
        `${subject}({ language })`,
        `one that the ${sandbox.name} sandbox runs (${sandbox.languages.join(", ")})${LANGUAGE_HINTS.get(language) ?? ""}`,
        language,
      );
    const changed = resolveLimits(base.limits, limits, optionsIn(subject, "limits"));
    const selected = tools && gate.tools.select(tools, `${subject}({ tools })`);
    if (closing.aborted)
      throw new PortcullisError("runtime_closed", "The runtime is closed and takes no further programs.");
    const others = [signal, this.#ownerSignal].filter((one) => one !== undefined);
    return {
      ...base,
      gate: this.gateFor(options, selected ? gate.beside(selected) : gate),
      language: language ?? base.language,
      limits: changed,
      tenant: tenant ?? base.tenant,
      observed: this.#observed?.of(tenant ?? base.tenant),
      context,
      approve: approve ?? base.approve,
      policies: policy === undefined ? base.policies : [...(base.policies ?? []), policy],
      approvePrograms: approvePrograms ?? base.approvePrograms,
      checkPrograms: options.checkPrograms ?? base.checkPrograms,
      signal: others.length === 0 ? closing : AbortSignal.any([...others, closing]),
    };
  }
}
