import { callTool } from "../gate/call-tool.ts";
import { Gate } from "../gate/gate.ts";
import type { CallFailure } from "../gate/streams/host-items.ts";
import { PortcullisError } from "../errors.ts";
import { createMemoryJournal } from "../journal/memory-journal.ts";
import type { Journal } from "../journal/journal.ts";
import { given } from "../option-rules/given.ts";
import { optionsIn, type Resolved } from "../option-rules/options.ts";
import { DEFAULT_LIMITS, type Limits, resolveLimits } from "../programs/limits.ts";
import { Content } from "../tools/content.ts";
import type { CallContext, Tool } from "../tools/tool.ts";
import { ToolSet } from "../tools/tool-set.ts";
import { type Declared, declare, definitionDigest } from "./declarations.ts";
import { type OwnedAnswer, OwnedCalls } from "./owned-calls.ts";
import { OwnedContext, type OwnedFacts } from "./owned-context.ts";
import type { OWNER_RULES } from "./owner-options.ts";

/** Time between two keepings of the lease of a call's own record: it has one driver. */
const LEASE_MS = 60_000;

/** A call that a worker has sent, after its key was checked. */
export interface SentCall {
  readonly execution: string;
  readonly callId: string;
  readonly tenant: string;
  readonly tool: string;
  readonly inputText: string;
  readonly timeoutMs: number;
  readonly sentTo?: string | undefined;
}

/** The calls of an owner behind its server. */
export class OwnerGate {
  readonly calls: OwnedCalls;
  readonly limits: Limits;
  readonly #gate: Gate;
  readonly #journal: Journal = createMemoryJournal();
  readonly #context: (one: { readonly execution: string; readonly tenant: string }) => unknown;
  readonly #onError: (error: unknown) => void;
  readonly #declared = new Map<string, Declared>();
  readonly #rules = new Map<string, Tool["needsApproval"]>();

  constructor({
    tools,
    limits,
    context = () => {},
    callsAtOnce,
    answerBytes,
    onError = tellError,
  }: Resolved<typeof OWNER_RULES>) {
    const set = new ToolSet(tools, "createOwner({ tools })");
    for (const tool of set.all) {
      this.#declared.set(tool.name, declare(tool));
      this.#rules.set(tool.name, tool.needsApproval);
    }
    this.#gate = new Gate(new ToolSet(set.all.map(madeHere)));
    this.limits = resolveLimits(DEFAULT_LIMITS, limits, optionsIn("createOwner", "limits"));
    this.calls = new OwnedCalls({ atOnce: callsAtOnce, keptBytes: answerBytes });
    this.#context = context;
    this.#onError = onError;
  }

  /** The declarations of the tools that exist for a tenant. */
  declared(tenant: string): readonly Declared[] {
    return this.#gateFor(tenant).tools.all.flatMap(({ name }) => this.#declared.get(name) ?? []);
  }

  /** The tool of this name that programs of a tenant may call here. */
  tool(name: string, tenant: string): Tool | undefined {
    const tool = this.#gateFor(tenant).tools.get(name);
    return tool?.handler !== "client" && tool?.allowedCallers.includes("programmatic") ? tool : undefined;
  }

  /** Whether its definition is still the one of this digest. */
  isDefinedAs(name: string, digest: unknown): boolean {
    const declared = this.#declared.get(name);
    return declared !== undefined && definitionDigest(declared) === digest;
  }

  /** Whether a call of a tool with this input, which its schema has let through, needs approval. */
  async approvalOf(name: string, input: unknown): Promise<boolean> {
    return (await this.#rules.get(name)?.(input)) ?? true;
  }

  take(call: SentCall) {
    return this.calls.take(call, (cancelled) => this.#make(call, cancelled));
  }

  #gateFor(tenant: string): Gate {
    return this.#gate.for({ tenant, context: undefined, model: undefined }, ({ error }) => this.#onError(error));
  }

  async #make(
    { execution, callId, tenant, tool, inputText, timeoutMs }: SentCall,
    cancelled: AbortSignal,
  ): Promise<OwnedAnswer> {
    try {
      const context = this.#context({ execution, tenant });
      const onQuestion = () => this.#onError(questionOf(tool));
      const facts: OwnedFacts = { execution, callId, inputText, context, onQuestion, shown: undefined };
      const scope = {
        gate: this.#gateFor(tenant),
        journal: this.#journal,
        leaseMs: LEASE_MS,
        limits: this.limits,
        tenant,
        context: facts,
        signal: AbortSignal.any([cancelled, AbortSignal.timeout(timeoutMs)]),
        onEvent: (event: { readonly type: string; readonly error?: unknown }) => {
          if (event.type === "call_ended" && event.error !== undefined) this.#onError(event.error);
        },
      };
      const answer = await callTool(scope, { tool, caller: "programmatic", inputText }, undefined);
      if (!answer.ok && answer.code === "cancelled") return undefined;
      const { shown } = facts;
      return JSON.stringify(
        answer.ok ? { ok: true, value: answer.value ?? null, ...(shown && { shown }) } : failureOf(answer),
      );
    } catch (error) {
      this.#onError(error);
      const message = `${tool} failed: its owner could not run it.`;
      return JSON.stringify({ ok: false, code: "handler_failed", message });
    }
  }
}

/** The worker's gate has asked for approval. The handler gets the facts of the call in the worker's journal. */
function madeHere(tool: Tool): Tool {
  const { handler } = tool;
  if (handler === "client") return tool;
  return Object.freeze({
    ...tool,
    approvable: false,
    needsApproval: () => false,
    handler: async (input: unknown, context: CallContext) => {
      const facts = context.context as OwnedFacts;
      const result = await handler(input, new OwnedContext(context, facts));
      if (Content.is(result) && !result.isError)
        facts.shown = given({ display: result.display, source: result.source });
      return result;
    },
  });
}

function failureOf({ code, message, value }: CallFailure) {
  return { ok: false, code, message, ...(value === undefined ? {} : { value }) };
}

function questionOf(tool: string): PortcullisError {
  return new PortcullisError(
    "option_invalid",
    `${tool}: its handler asks a question (context.ask), which reaches no person from an owner, and was declined. Give the tool an approval rule (approval), or give it to the workers (createRuntime({ tools })).`,
  );
}

function tellError(error: unknown): void {
  // oxlint-disable-next-line no-console -- the operator has named no other place
  console.error("portcullis: a tool of the owner:", error);
}
