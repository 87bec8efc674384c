import type { AgentReport } from "../conversations/agent-report.ts";
import type { AgentOptions, ConversationOptions } from "../conversations/agent-options.ts";
import type { AgentScope } from "../conversations/agent-scope.ts";
import { declarePrograms } from "../conversations/calls/run-program.ts";
import type { Conversation } from "../conversations/conversation.ts";
import {
  checkValue,
  type ExecutionId,
  heldWithin,
  jsonTextOf,
  optionError,
  optionsIn,
  readOptions,
  required,
  type CheckedOptions,
  wholeNumber,
  words,
} from "../base/index.ts";
import { type CallAnswer, callTool } from "../gate/call-tool.ts";
import { queuesOfTools } from "../gate/queues/tool-queues.ts";
import { Gate } from "../gate/gate.ts";
import type { Fleet, FleetMember } from "./fleet.ts";
import type { Journal, ListOptions } from "../journal/journal.ts";
import { countReadings } from "../journal/reading/reading-quota.ts";
import { type Report, reportOf } from "../executions/output/report.ts";
import type { ProgramCheckMode } from "../executions/scope.ts";
import { execute } from "../executions/execute.ts";
import {
  type ContextArguments,
  correctedBy,
  EXECUTION,
  EXECUTE_RULES,
  type ExecuteOptions,
} from "../executions/execute-options.ts";
import { type Limits, resolveLimits } from "../executions/limits.ts";
import type { ListedExecution } from "./executions/listed-execution.ts";
import type { OpenExecutions, TakeUpWork, Unrecovered } from "./executions/recover.ts";
import { RECOVER_RULES, type RecoverOptions } from "./executions/recover-options.ts";
import { resultSchemaOf } from "../executions/drive/ending/result-schema.ts";
import type { ResumeOptions } from "../executions/resume-options.ts";
import { RedactingJournal, storeOf, plainStore } from "../journal/redaction/redacting-journal.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { addLoad, type RuntimeLoad } from "../gate/telemetry/process-load.ts";
import { declareTools, type DeclarationOptions } from "../tools/declarations/declarations.ts";
import { type ObservedResults, observedResults } from "../tools/observed/tenant-results.ts";
import type { Tool } from "../tools/tool.ts";
import { FOUND_MAX } from "../tools/search/search-tool.ts";
import type { FoundTool, SearchSettings } from "../tools/search/tool-search.ts";
import { SEARCH_TOOLS } from "../tools/tool-name.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { type CurrentTools, currentTools } from "../tools/current-tools.ts";
import {
  CALL_RULES,
  type CallOptions,
  DERIVE_RULES,
  type DeriveOptions,
  OF_TENANT_RULES,
  SEARCH_TOOLS_RULES,
  type SearchToolsOptions,
  LIST_RULES,
} from "./options.ts";
import {
  hiddenNamesBy,
  hostObservers,
  type HostObservers,
  type Listener,
  listenerOfPrograms,
  type ObserverParts,
} from "./observers.ts";
import { ExecutionHandle, reportIn } from "./execution-handle.ts";
import { type ExecutionPlaces, type QueueState, type WorkUnderWay, workUnderWay } from "./work-under-way.ts";
import { type RuntimeScopes, runtimeScopes, type ScopeOptions, type ScopeParts } from "./scopes.ts";

type LoopTools = import("../frameworks/loops.ts").LoopTools;
type AsToolOptions<Context> = import("../frameworks/loops.ts").AsToolOptions<Context>;

const SEARCH_CALL = { tool: SEARCH_TOOLS, caller: "programmatic" } as const;

export interface RuntimeParts extends ScopeParts, ObserverParts {
  readonly ownsSandbox: boolean;
  readonly journal: Journal;
  /** The fleet whose journal it is; undefined for a runtime of its own. */
  readonly fleet: Fleet | undefined;
  /** Bounds what runs at once; undefined if nothing is bounded. */
  readonly places: ExecutionPlaces | undefined;
  readonly observeResults: boolean;
  readonly observed?: ObservedResults | undefined;
  readonly parent: WorkUnderWay | undefined;
}

/**
 * Runs programs and conversations. Made by `createRuntime`. `Context` is the type of the `context` that its executions,
 * conversations and calls are given.
 */
export class Runtime<Context = unknown> implements AsyncDisposable {
  readonly limits: Limits;
  /** @internal The tenant of executions that name none. */
  readonly tenant: string;
  /** @internal */
  readonly sandbox: Sandbox;
  readonly journal: Journal;
  /** @internal Aborted when the runtime closes; the reason is a `PortcullisError` with the code `runtime_closed` or `runtime_suspended`. */
  readonly closing: AbortSignal;
  /** `list`: executions and conversations of the journal, the latest first. */
  readonly executions = { list: (options: ListOptions = {}) => this.#list(options) };
  readonly #parts: RuntimeParts;
  readonly #scopes: RuntimeScopes;
  readonly #observers: HostObservers;
  readonly #work: WorkUnderWay;
  readonly #removeLoad: (() => void) | undefined;
  readonly #openReasons: OpenExecutions = new Map();
  readonly #observed: ObservedResults | undefined;

  /** @internal */
  constructor(parts: RuntimeParts) {
    const { sandbox, gate, limits, tenant, parent, observeResults } = parts;
    this.#observers = hostObservers(parts);
    const { redactor } = this.#observers;
    const store = plainStore(parts.journal);
    const journal = redactor ? new RedactingJournal(store, redactor) : parts.journal;
    countReadings(gate.held, storeOf(journal), store, journal);
    this.#work = workUnderWay(parts.places, parent);
    // The load of a derived runtime counts in the runtime that it is derived from.
    this.#removeLoad = parent ? undefined : addLoad(() => this.#load);
    this.limits = limits;
    this.tenant = tenant;
    this.sandbox = sandbox;
    this.journal = journal;
    this.closing = this.#work.closing;
    this.#parts = parts;
    const { observed = observeResults ? observedResults(hiddenNamesBy(redactor)) : undefined } = parts;
    this.#observed = observed;
    this.#scopes = runtimeScopes(parts, journal, this.#observers, this.#observed, this.closing);
  }

  /** @internal How programs are checked that a model wrote. */
  get checkPrograms(): ProgramCheckMode {
    return this.#parts.checkPrograms ?? "off";
  }

  /** The fleet that it belongs to; undefined without one. */
  get fleet(): Fleet | undefined {
    return this.#parts.fleet;
  }

  /** How many executions, conversations and calls run, and how many wait for a place (`createRuntime({ executions })`). */
  get queue(): QueueState {
    return this.#work.queue;
  }

  get #load(): RuntimeLoad {
    const { sandbox } = this;
    const load = sandbox.load;
    return { ...this.queue, sandbox: load && { name: sandbox.name, ...load } };
  }

  get tools(): ToolSet {
    return this.#scopes.gate.tools;
  }

  /**
   * Runs a program to its ending and resolves with the report, whatever the ending. Rejects with a `PortcullisError`
   * only if an option is invalid, the runtime is closed, the sandbox cannot run or the journal cannot be written; with
   * the id of an `execution` that exists, also with `execution_exists` and as `resume` does; with `corrects` also with
   * `execution_unknown`, and with `execution_open` for an execution that has not ended.
   */
  async execute<Value = unknown>(
    program: string,
    ...argument: ContextArguments<ExecuteOptions<Context, Value>, Context>
  ): Promise<Report<Value>> {
    const [options = {}] = argument;
    const read = readOptions("execute", options, EXECUTE_RULES);
    const result = resultSchemaOf(read.result, "execute({ result })");
    return this.#run("execute", read, listenerOfPrograms(read.onEvent), async (scope) => {
      if (typeof program !== "string") throw optionError("execute(program)", "source text", program);
      const { id } = read;
      const corrects = correctedBy(read);
      if (id === undefined) return reportIn<Value>(scope, await execute(scope, program, { result, corrects }));
      const { executeOnce } = await import("../executions/resume.ts");
      return reportIn<Value>(scope, await executeOnce(scope, program, id, { result, corrects }));
    });
  }

  #ofTenant(tenant: string): AgentScope {
    return { ...this.#scopes.base, tenant };
  }

  /**
   * Takes up every program's execution that no driver holds and that does not only wait, several at once. With `model`,
   * which gives the model of a conversation, it takes up conversations too. Yields the report of each once it has ended
   * or waits, and `{ execution, tenant, error }` if it could not be taken up; the others go on. Rejects only if an
   * option is invalid, the runtime is closed or the journal cannot be listed.
   */
  recover(
    options: RecoverOptions<Context> & Required<Pick<RecoverOptions, "model">>,
  ): AsyncGenerator<Report | AgentReport | Unrecovered>;
  recover(
    ...argument: ContextArguments<RecoverOptions<Context> & { readonly model?: never }, Context>
  ): AsyncGenerator<Report | Unrecovered>;
  recover(options: RecoverOptions<Context>): AsyncGenerator<Report | AgentReport | Unrecovered>;
  async *recover(
    ...argument: ContextArguments<RecoverOptions<Context>, Context>
  ): AsyncGenerator<Report | AgentReport | Unrecovered> {
    const [options = {}] = argument;
    const read = readOptions("recover", options, RECOVER_RULES);
    const { gate } = this.#scopes.of("recover", {});
    const { recover } = await import("./executions/recover.ts");
    const recovering = recover({
      ...this.#takingUp("recover", read),
      signal: this.closing,
      concurrency: read.concurrency,
      reasons: this.#openReasons,
      only: (one) => read.only?.(one) ?? true,
    });
    for await (const one of recovering) yield "error" in one || "transcript" in one ? one : reportOf(one, gate.tools);
  }

  #takingUp(subject: string, options: CheckedOptions<typeof RECOVER_RULES>): TakeUpWork {
    const { context, model, fallbacks, result, signal, onEvent } = options;
    return {
      journal: this.journal,
      model: (conversation) => model?.(conversation),
      fallbacks: (conversation) => fallbacks?.(conversation),
      result: (one) => resultSchemaOf(result?.(one), `${subject}({ result })`),
      run: ({ model: own, ...one }, work) => {
        const of = { tenant: one.tenant, context: context?.(one), model: own, signal: signal?.(one) };
        return this.#run(subject, of, onEvent, work);
      },
    };
  }

  /** For `Fleet.submit` and `Fleet.work`. */
  async fleetMember(): Promise<FleetMember<Context>> {
    const { memberOf } = await import("./fleet-methods.ts");
    const { fleet } = this;
    if (!fleet) throw new Error("A runtime without a fleet is no member.");
    return memberOf({
      fleet,
      leaseMs: this.#parts.leaseMs,
      tools: () => this.tools,
      closing: this.closing,
      scopeOf: async (subject, options) => ({
        ...this.#scopes.of(subject, options),
        telemetry: await this.#observers.telemetry,
      }),
      takingUp: (subject, options) => this.#takingUp(subject, options),
      untilEnded: (running) => this.#work.untilEnded(running),
    });
  }

  async *#list(options: ListOptions): AsyncIterable<ListedExecution> {
    const { listExecutions } = await import("./executions/list-executions.ts");
    yield* listExecutions(this.journal, readOptions("executions.list", options, LIST_RULES));
  }

  /**
   * Runs a conversation in which a model works on a task with the tools, and resolves with the report, whatever the
   * ending. Rejects with a `PortcullisError` only if an option is invalid, the model cannot be called at all, the
   * runtime is closed, the sandbox cannot run or the journal cannot be written.
   */
  async agent<Answer = string>(options: AgentOptions<Context, Answer>): Promise<AgentReport<Answer>> {
    const [{ runAgent }, { AGENT_RULES, openedOptions, requestOf }] = await Promise.all([
      import("../conversations/resume-agent.ts"),
      import("../conversations/agent-options.ts"),
    ]);
    const read = openedOptions("agent", options, AGENT_RULES);
    return this.#run("agent", read, read.onEvent, (scope) =>
      runAgent<Answer>(scope, requestOf(read, scope.gate.tools, "agent"), read.task, read.id),
    );
  }

  /**
   * Begins a conversation that you hold, or takes an open one over: many messages of the user, turn by turn if wanted.
   * Nothing is asked before the first `send` or `step`. Dispose of it with `await using`. Rejects as `agent` does, and
   * where it takes one over as `resume` does.
   */
  async conversation<Answer = string>(
    options: ConversationOptions<Context, Answer>,
  ): Promise<Conversation<Context, Answer>> {
    const [{ HELD_RULES, openedOptions }, { openConversation }] = await Promise.all([
      import("../conversations/agent-options.ts"),
      import("../conversations/conversation.ts"),
    ]);
    const read = openedOptions("conversation", options, HELD_RULES);
    const telemetry = await this.#observers.telemetry;
    const own = { ...this.#scopes.of("conversation", read), telemetry };
    const { scope, flush, end } = this.#observers.observe(own, read.onEvent);
    return openConversation<Context, Answer>(
      scope,
      { options, read },
      {
        untilEnded: (running) => this.#work.untilEnded(running),
        inPlace: async (signal, work) => {
          try {
            return await this.#work.inPlace({ ...scope, signal }, work);
          } finally {
            await flush();
          }
        },
        selectTools: (tools) =>
          this.#scopes.gateFor(read, this.#parts.gate.withTools(this.tools.select(tools, "setTools(tools)"))).tools,
        onDisposed: end,
      },
    );
  }

  /**
   * Makes one call of a tool through the gate, for a host that runs a model's loop itself. The call is checked, limited
   * and journalled like any other, as an execution of its own. Resolves with the value, or with the code and the sentence
   * of a refusal or failure. Rejects with a `PortcullisError` only if an option is invalid, the runtime is closed or the
   * journal cannot be written.
   *
   * Of a tool with `stream` it resolves with the first item, and gives the items as they come: `{ ok: true, items }`, which
   * one `for await` may read. A failure after that is thrown by the loop: `stream_failed`, whose `cause` is the failure. The
   * call goes on, and keeps its place (`createRuntime({ executions })`), until the items are read, the loop is left, the
   * iterator's `return` is called, `signal` is aborted or the runtime closes. If no loop has begun within the tool's
   * `timeoutMs`, the call is cancelled.
   */
  async call(options: CallOptions<Context>): Promise<CallAnswer> {
    const { gather, ...read } = readOptions("call", options, CALL_RULES);
    const { tool, caller, idempotencyKey } = read;
    const inputText = jsonTextOf(read.input) ?? "null";
    const begun = Promise.withResolvers<CallAnswer>();
    const reading = { begin: begun.resolve, recorded: () => running };
    const running = this.#run("call", read, undefined, (scope) =>
      callTool(scope, { tool, caller, inputText, idempotencyKey }, gather ? undefined : reading),
    );
    return Promise.race([begun.promise, running]);
  }

  /**
   * Tools for the loop of another package: `run_program`, as that loop takes a tool. A failed program is a failed call
   * there, and the loop's signal cancels it. Rejects with `option_invalid` for an unknown loop or option.
   */
  async asTool<Loop extends keyof LoopTools>(
    loop: Loop,
    ...argument: ContextArguments<AsToolOptions<Context>, Context>
  ): Promise<LoopTools[Loop]> {
    const [options = {}] = argument;
    const { tenant, limits } = this;
    const gate = this.#scopes.gateFor({ context: (options as { readonly context?: unknown }).context });
    const { toolsFor } = await import("../frameworks/loops.ts");
    return toolsFor(loop, options, {
      tools: gate.tools,
      tenant,
      programs: () => declarePrograms(gate.search, "javascript", { tenant, limits, shares: false, shown: this.shown }),
      approves: this.#parts.approve !== undefined,
      execute: (program, own) => {
        const checked = { checkPrograms: this.checkPrograms, ...own };
        return this.execute(program, checked as ExecuteOptions<Context>);
      },
      resume: (id, own) => this.execution(id).resume(own as ResumeOptions<Context>),
      records: (id) => this.execution(id).records(),
      approval: async (id, callId) => {
        const { waitingApproval } = await import("../executions/decide.ts");
        return waitingApproval(this.#scopes.base, id, callId);
      },
      status: (id) => this.execution(id).status(),
      untilAppended: async (id, records) => {
        const { untilAppended } = await import("./executions/list-executions.ts");
        await untilAppended(this.journal, id, records, this.closing);
      },
      search: (input, context, signal) =>
        this.call({ ...SEARCH_CALL, input, context, signal } as unknown as CallOptions<Context>),
    });
  }

  /**
   * A runtime on the same sandbox with the same approval, and with other tools, limits, another tenant or logger if
   * they are given. A tool that is in both runtimes shares its `concurrency` and its `rate` between them. The derived
   * runtime closes with this runtime; dispose of the derived runtime to close it earlier. Throws a `PortcullisError` if
   * an option is invalid.
   */
  derive(options: DeriveOptions<Context>): Runtime<Context>;
  /** @internal `authority` is for servers of this package. */
  derive(
    options: DeriveOptions<Context>,
    authority: Pick<ScopeParts, "owner" | "owners" | "ownerSignal">,
  ): Runtime<Context>;
  derive(
    options: DeriveOptions<Context>,
    authority: Pick<ScopeParts, "owner" | "owners" | "ownerSignal"> = {},
  ): Runtime<Context> {
    const { tools: toolOption, limits, ...changed } = readOptions("derive", options, DERIVE_RULES);
    const tools = toolOption && currentTools(toolOption, "derive({ tools })");
    return new Runtime<Context>({
      ...this.#parts,
      ...changed,
      limits: resolveLimits(this.#parts.limits, limits, optionsIn("derive", "limits")),
      ...(tools && { tools, gate: this.#parts.gate.withTools(tools.set) }),
      ...authority,
      ownsSandbox: false,
      observed: this.#observed,
      parent: this.#work,
    });
  }

  /**
   * The tools that fit a query best, of those that the caller may call; 5 by default. Rejects with a `PortcullisError` only
   * if an argument is invalid.
   */
  async searchTools(query: string, limit?: number, options: SearchToolsOptions = {}): Promise<readonly FoundTool[]> {
    checkValue("searchTools(query)", query, required(words()));
    if (limit !== undefined) checkValue("searchTools(query, limit)", limit, wholeNumber({ min: 1, max: FOUND_MAX }));
    const read = readOptions("searchTools", options, SEARCH_TOOLS_RULES);
    return this.#scopes.findTools(query, limit, read);
  }

  /** @internal The tools that exist for the runtime's tenant, of those that it was given. */
  get enabledTools(): ToolSet {
    return this.#scopes.gateFor({}).tools;
  }

  /** Typed stubs of the tools that programs may call, for a model to read. */
  declarations(options?: DeclarationOptions): string {
    return declareTools(this.#scopes.gateFor({}).tools.visibleTo(["programmatic"]).map(this.shown), options);
  }

  /** @internal A tool as models of the runtime's tenant are shown it: with what its results were like, if that was observed. */
  readonly shown = (tool: Tool): Tool => this.#scopes.shown(tool);

  /**
   * A handle of an execution or a conversation in the journal, of the runtime's tenant or another one. Nothing is read
   * before a method of the handle is called.
   */
  execution(id: ExecutionId, options: { readonly tenant?: string } = {}): ExecutionHandle<Context> {
    checkValue("execution(id)", id, required(EXECUTION));
    const { tenant = this.#scopes.base.tenant } = readOptions("execution", options, OF_TENANT_RULES);
    return new ExecutionHandle<Context>(id, {
      base: this.#ofTenant(tenant),
      run: (subject, own, listener, work) => this.#run(subject, { ...own, tenant }, listener, work),
      tools: () => this.#scopes.gateFor({ tenant }).tools,
    });
  }

  /** Cancels all executions and conversations, waits for their ends, and ends the processes of the sandbox. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#work.close();
    this.#removeLoad?.();
    if (this.#parts.ownsSandbox) await this.sandbox[Symbol.asyncDispose]();
  }

  /**
   * Closes the runtime and leaves its executions and conversations open in the journal, where `recover` of another runtime
   * takes them up; their methods reject with `runtime_suspended`. Single calls are cancelled. Waits `afterMs` first for what
   * runs to end by itself. Resolves with the number of executions that were left open, once nothing runs any more. A runtime
   * that owns its sandbox is disposed of after that, as always.
   */
  suspend(afterMs = 0): Promise<number> {
    return this.#work.suspend(afterMs);
  }

  /** Runs the work of one method in the runtime's scope, changed by the method's options. `subject` is the method, for errors. */
  async #run<Value>(
    subject: string,
    options: ScopeOptions,
    listener: Listener | undefined,
    work: (scope: AgentScope) => Promise<Value>,
  ): Promise<Value> {
    const loading = this.#observers.telemetry;
    const telemetry = loading && (await loading);
    const own = this.#scopes.of(subject, options);
    const { scope, end } = this.#observers.observe(telemetry ? { ...own, telemetry } : own, listener);
    try {
      return await this.#work.untilEnded(this.#work.inPlace(scope, () => work(scope), options.id));
    } finally {
      await end();
    }
  }
}

export function openGate(
  tools: CurrentTools,
  heldBytes: number | undefined,
  search: SearchSettings,
  fleet: Fleet | undefined,
): Gate {
  return new Gate(tools.set, heldWithin(heldBytes), search, queuesOfTools(fleet?.limits));
}
