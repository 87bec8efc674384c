import type { AgentReport } from "../agent/agent-report.ts";
import type { AGENT_RULES, AgentOptions, ConverseOptions } from "../agent/agent-options.ts";
import { AgentScope } from "../agent/agent-scope.ts";
import { type AgentEvent, isExecutionEvent } from "../agent/event.ts";
import type { ResumeAgentOptions } from "../agent/resume-agent-options.ts";
import { declarePrograms } from "../agent/run-program.ts";
import type { Talk } from "../agent/talk.ts";
import { optionError, PortcullisError } from "../errors.ts";
import type { Approve } from "../gate/approval.ts";
import { type CallAnswer, callTool } from "../gate/call-tool.ts";
import { FailureLog, type Logger } from "../gate/failure-log.ts";
import { Gate } from "../gate/gate.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Model } from "../models/model.ts";
import type { Journal, ListOptions } from "../journal/journal.ts";
import type { JournalRecord } from "../journal/record.ts";
import { type AsToolOptions, type LoopName, type LoopTools, toolsFor } from "../loops/loops.ts";
import type { ProgramHost } from "../loops/program-tool.ts";
import { checkValue, optionsIn, readOptions, required, type Resolved, wholeNumber, words } from "../options/options.ts";
import { CONSOLE_LOGGER } from "../output/console-logger.ts";
import { type Report, reportOf } from "../output/report.ts";
import { execute, type Execution } from "../programs/execute.ts";
import { type ContextArguments, EXECUTE_RULES, type ExecuteOptions, TENANT } from "../programs/execute-options.ts";
import { type Limits, resolveLimits } from "../programs/limits.ts";
import type { ClientResult, Decision } from "../programs/decide.ts";
import type { ListedExecution } from "../executions/list-executions.ts";
import type { ExecutionFacts } from "../executions/status.ts";
import type { Unrecovered } from "../executions/recover.ts";
import { RECOVER_RULES, type RecoverOptions } from "../executions/recover-options.ts";
import { resultSchemaOf } from "../programs/result-schema.ts";
import { RESUME_RULES, type ResumeOptions } from "../programs/resume-options.ts";
import type { Replayed } from "../programs/replay-turns.ts";
import type { Redact } from "../redaction/redact.ts";
import { RedactingJournal, storeOf } from "../redaction/redacting-journal.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { TelemetrySwitch } from "../telemetry/load.ts";
import { addLoad, type RuntimeLoad } from "../telemetry/loads.ts";
import type { Capture } from "../telemetry/options.ts";
import { declareTools, type DeclarationOptions } from "../tools/declarations.ts";
import { FOUND_MAX } from "../tools/search/search-tool.ts";
import type { FoundTool, SearchSettings } from "../tools/search/tool-search.ts";
import { SEARCH_TOOLS } from "../tools/tool-name.ts";
import type { SwitchFailure, ToolSet } from "../tools/tool-set.ts";
import { CurrentTools } from "../tools/current-tools.ts";
import { HeldBytes } from "../values/held-bytes.ts";
import { jsonTextOf } from "../values/json-text.ts";
import type { SlicedWork } from "../values/slice-scheduler.ts";
import {
  CALL_RULES,
  type CallOptions,
  DECISIONS,
  DERIVE_RULES,
  type DeriveOptions,
  RESULTS,
  SEARCH_TOOLS_RULES,
  type SearchToolsOptions,
} from "./method-options.ts";
import type { RuntimeOptions } from "./options.ts";
import type { Places, QueueState } from "./places.ts";
import { RedactedEvents } from "./redact-events.ts";
import { redactorFor } from "./redactor-for.ts";
import { telemetrySwitch } from "./telemetry-switch.ts";

export interface RuntimeParts {
  readonly sandbox: Sandbox;
  readonly ownsSandbox: boolean;
  readonly tools: CurrentTools;
  /** The gate for the tools at first. */
  readonly gate: Gate;
  readonly journal: Journal;
  readonly leaseMs: number;
  readonly limits: Limits;
  readonly tenant: string;
  readonly approve: Approve | undefined;
  readonly approvePrograms: boolean;
  readonly onEvent: RuntimeOptions["onEvent"] | undefined;
  readonly logger: Logger | undefined;
  readonly redact: Redact | undefined;
  /** What spans have of contents; undefined where nothing is recorded. */
  readonly captures: ReadonlySet<Capture> | undefined;
  /** Bounds what runs at once; undefined where nothing is bounded. */
  readonly places: Places | undefined;
  /** The runtime that this one is derived from. */
  readonly parent: Closing | undefined;
}

/** What a derived runtime needs of the one that it is derived from. */
interface Closing {
  readonly closing: AbortSignal;
  /** Waits for work of a derived runtime, as for its own. */
  readonly untilEnded: <Value>(running: Promise<Value>) => Promise<Value>;
}

/**
 * Runs programs and conversations. Made by `createRuntime`. `Context` is the type of the `context` that its executions,
 * conversations and calls are given.
 */
export class Runtime<Context = unknown> implements AsyncDisposable {
  readonly limits: Limits;
  readonly sandbox: Sandbox;
  readonly journal: Journal;
  /** Aborted when the runtime closes; the reason is a `PortcullisError` with the code `runtime_closed` or `runtime_suspended`. */
  readonly closing: AbortSignal;
  readonly #parts: RuntimeParts;
  readonly #scope: AgentScope;
  readonly #redactor: Redactor | undefined;
  readonly #telemetry: TelemetrySwitch | undefined;
  readonly #removeLoad: (() => void) | undefined;
  readonly #close = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** Tools whose `enabled` has failed, and of which the operator knows. */
  readonly #switchFailures = new Set<string>();

  constructor(parts: RuntimeParts) {
    const { sandbox, gate, leaseMs, limits, tenant, approve, approvePrograms, parent } = parts;
    const redactor = parts.redact && redactorFor(parts.redact, parts.logger);
    const journal = redactor ? new RedactingJournal(storeOf(parts.journal), redactor) : parts.journal;
    this.#redactor = redactor;
    this.#telemetry = parts.captures && telemetrySwitch(parts.captures, redactor, parts.logger);
    // What a derived runtime runs counts in the one that it is derived from.
    this.#removeLoad = parts.captures && !parent ? addLoad(() => this.#load) : undefined;
    this.limits = limits;
    this.sandbox = sandbox;
    this.journal = journal;
    this.closing = parent ? AbortSignal.any([parent.closing, this.#close.signal]) : this.#close.signal;
    this.#parts = parts;
    this.#scope = new AgentScope({
      sandbox,
      gate,
      journal,
      leaseMs,
      limits,
      tenant,
      context: undefined,
      approve,
      approvePrograms,
      redactor,
      telemetry: undefined,
      language: EXECUTE_RULES.language.default,
      signal: this.closing,
      onEvent: () => {},
      onSwitchFailed: (failed) => this.#tellSwitchFailed(failed),
      artifacts: undefined,
      above: undefined,
    });
  }

  /** How many executions, conversations and calls run, and how many wait for a place (`createRuntime({ executions })`). */
  get queue(): QueueState {
    return this.#parts.places?.state ?? { running: this.#running.size, waiting: 0 };
  }

  /** For the metrics. */
  get #load(): RuntimeLoad {
    const { sandbox } = this;
    const load = sandbox.load;
    return { ...this.queue, sandbox: load && { name: sandbox.name, ...load } };
  }

  #report<Value>({ limits, gate, telemetry }: AgentScope, execution: Execution): Report<Value> {
    const report = reportOf<Value>(execution, limits, gate.tools);
    telemetry?.noteOutput(report.usage.bytesOut);
    return report;
  }

  /** Whether a logger or an `onEvent` of the runtime's is told of handlers that fail. */
  get tellsFailures(): boolean {
    const { logger, onEvent } = this.#parts;
    return logger !== undefined || onEvent !== undefined;
  }

  get tools(): ToolSet {
    return this.#gate.tools;
  }

  /** The gate for the tools that there are now. */
  get #gate(): Gate {
    const { gate, tools } = this.#parts;
    return gate.of(tools.set);
  }

  /**
   * Runs a program to its ending and resolves with the report, whatever the ending. Rejects with a `PortcullisError`
   * only if an option is invalid, the runtime is closed, the sandbox cannot run or the journal cannot be written; with
   * the id of an `execution` that exists, also with `execution_exists` and as `resume` does.
   */
  async execute<Value = unknown>(
    program: string,
    ...given: ContextArguments<ExecuteOptions<Context, Value>, Context>
  ): Promise<Report<Value>> {
    const [options = {}] = given;
    const read = readOptions("execute", options, EXECUTE_RULES);
    const { onEvent } = read;
    const result = resultSchemaOf(read.result, "execute({ result })");
    const listener = onEvent && ((event: AgentEvent) => isExecutionEvent(event) && emit(onEvent, event));
    return this.#run("execute", read, listener, async (scope) => {
      if (typeof program !== "string") throw optionError("execute(program)", "source text", program);
      const { execution: id } = read;
      if (id === undefined) return this.#report<Value>(scope, await execute(scope, program, id, result));
      const { executeOnce } = await import("../programs/execute-once.ts");
      return this.#report<Value>(scope, await executeOnce(scope, program, id, { result }));
    });
  }

  /**
   * Takes up a program's execution that waits, or whose host died, and drives it to its ending or until it waits again.
   * One that has ended gives its report, and nothing runs. Rejects with `execution_unknown`, `call_unknown`,
   * `decision_exists`, `tools_changed`, `execution_driven`, `head_moved`, and as `execute` does.
   */
  async resume<Value = unknown>(
    id: ExecutionId,
    ...given: ContextArguments<ResumeOptions<Context, Value>, Context>
  ): Promise<Report<Value>> {
    const [options = {}] = given;
    const read = readOptions("resume", options, RESUME_RULES);
    const { onEvent } = read;
    const result = resultSchemaOf(read.result, "resume({ result })");
    const listener = onEvent && ((event: AgentEvent) => isExecutionEvent(event) && emit(onEvent, event));
    return this.#run("resume", read, listener, async (scope) => {
      const { resume } = await import("../programs/resume.ts");
      const resumed = await resume(scope, id, { ...read, result, asks: read.approve !== undefined });
      return this.#report<Value>(scope, resumed);
    });
  }

  /**
   * Takes up a conversation that waits, or whose host died, with the model that it began with, and drives it to its
   * ending or until it waits again. No recorded turn is asked for again. A call of one of its programs has both ids, like
   * `call_2/17`. One that has ended gives its report, and nothing runs. Rejects as `resume` and `agent` do.
   */
  async resumeAgent<Answer = string>(
    id: ExecutionId,
    options: ResumeAgentOptions<Context, Answer>,
  ): Promise<AgentReport<Answer>> {
    const [{ resumeAgent }, { RESUME_AGENT_RULES }] = await Promise.all([
      import("../agent/resume-agent.ts"),
      import("../agent/resume-agent-options.ts"),
    ]);
    const read = readOptions("resumeAgent", options, RESUME_AGENT_RULES);
    const answer = resultSchemaOf(read.answer, "resumeAgent({ answer })");
    const { onEvent } = read;
    const listener = onEvent && ((event: AgentEvent) => emit(onEvent, event));
    return this.#run("resumeAgent", read, listener, (scope) =>
      resumeAgent<Answer>(scope, id, { ...read, answer, asks: read.approve !== undefined }),
    );
  }

  /**
   * Notes decisions about calls of an execution or a conversation that wait, by call id. It drives nothing. Rejects as
   * `resume` does.
   */
  async decide(
    id: ExecutionId,
    decisions: Readonly<Record<string, Decision>>,
    options: { readonly tenant?: string } = {},
  ): Promise<void> {
    const { tenant } = readOptions("decide", options, { tenant: TENANT });
    checkValue("decide(id, decisions)", decisions, DECISIONS);
    const { decide } = await import("../executions/decide.ts");
    await decide({ journal: this.journal, tenant: tenant ?? this.#scope.tenant }, id, { decisions });
  }

  /**
   * Notes results of calls that a client answers (`handler: "client"`), by call id. It drives nothing. Rejects as `resume`
   * does.
   */
  async answer(
    id: ExecutionId,
    results: Readonly<Record<string, ClientResult>>,
    options: { readonly tenant?: string } = {},
  ): Promise<void> {
    const { tenant } = readOptions("answer", options, { tenant: TENANT });
    checkValue("answer(id, results)", results, RESULTS);
    const { answer } = await import("../executions/answer.ts");
    const own = tenant ?? this.#scope.tenant;
    await answer({ journal: this.journal, tenant: own, tools: this.#gateFor({ tenant: own }).tools }, id, results);
  }

  /**
   * What the journal tells of an execution or a conversation: its state, and the report of a program that has ended or
   * waits. It drives nothing. Rejects with `execution_unknown`, also for another tenant's, and as the journal does.
   */
  async status(id: ExecutionId, options: { readonly tenant?: string } = {}): Promise<ExecutionStatus> {
    const { tenant } = readOptions("status", options, { tenant: TENANT });
    const { factsOf } = await import("../executions/status.ts");
    const scope = this.#scope.with({ tenant: tenant ?? this.#scope.tenant });
    const { ended, ...facts } = await factsOf(scope, id);
    return { ...facts, ...(ended && { report: reportOf(ended, scope.limits, scope.gate.tools) }) };
  }

  /**
   * Takes up every program's execution that no driver holds and that does not only wait, several at once; with `model`,
   * which gives the model of a conversation, also conversations. Yields a report when one has ended or waits, and
   * `{ execution, tenant, error }` for one that could not be taken up; the others go on. Rejects only if an option is
   * invalid, the runtime is closed or the journal cannot be listed.
   */
  recover(
    options: RecoverOptions<Context> & Required<Pick<RecoverOptions, "model">>,
  ): AsyncGenerator<Report | AgentReport | Unrecovered>;
  recover(
    ...given: ContextArguments<RecoverOptions<Context> & { readonly model?: never }, Context>
  ): AsyncGenerator<Report | Unrecovered>;
  recover(options: RecoverOptions<Context>): AsyncGenerator<Report | AgentReport | Unrecovered>;
  async *recover(
    ...given: ContextArguments<RecoverOptions<Context>, Context>
  ): AsyncGenerator<Report | AgentReport | Unrecovered> {
    const [options = {}] = given;
    const { concurrency, context, model, result, signal, onEvent } = readOptions("recover", options, RECOVER_RULES);
    const listener = onEvent && ((event: AgentEvent) => emit(onEvent, event));
    const { limits, gate } = this.#scopeFor("recover", {});
    const { recover } = await import("../executions/recover.ts");
    const recovering = recover({
      journal: this.journal,
      signal: this.closing,
      concurrency,
      model: (conversation) => model?.(conversation),
      result: (one) => resultSchemaOf(result?.(one), "recover({ result })"),
      run: ({ model: own, ...one }, work) => {
        const cancel = signal?.(one);
        const of = { tenant: one.tenant, context: context?.(one), model: own, ...(cancel && { signal: cancel }) };
        return this.#run("recover", of, listener, (scope) => work(scope));
      },
    });
    for await (const one of recovering)
      yield "error" in one || "transcript" in one ? one : reportOf(one, limits, gate.tools);
  }

  /** Executions and conversations of the journal, the latest first. */
  async *executions(options?: ListOptions): AsyncIterable<ListedExecution> {
    const { listExecutions } = await import("../executions/list-executions.ts");
    yield* listExecutions(this.journal, options);
  }

  /**
   * Runs a conversation in which a model works on a task with the tools, and resolves with the report, whatever the
   * ending. Rejects with a `PortcullisError` only if an option is invalid, the model cannot be called at all, the
   * runtime is closed, the sandbox cannot run or the journal cannot be written.
   */
  async agent<Answer = string>(options: AgentOptions<Context, Answer>): Promise<AgentReport<Answer>> {
    const [{ runAgent }, { runAgentOnce }, { AGENT_RULES, requestOf }] = await Promise.all([
      import("../agent/agent.ts"),
      import("../agent/resume-agent.ts"),
      import("../agent/agent-options.ts"),
    ]);
    const read = readOptions("agent", options, AGENT_RULES);
    const { task, execution, onEvent } = read;
    const listener = onEvent && ((event: AgentEvent) => emit(onEvent, event));
    return this.#run("agent", read, listener, (scope) => {
      const request = requestOf(read, scope.gate.tools, "agent");
      return execution === undefined
        ? runAgent<Answer>(scope, request, task)
        : runAgentOnce<Answer>(scope, request, task, execution);
    });
  }

  /**
   * Begins a conversation that you hold, or goes on with one: many messages of the user, turn by turn where wanted. Nothing is
   * asked before the first `say` or `step`. Dispose of it with `await using`. Rejects as `agent` does, and to `continue` as
   * `resumeAgent` does.
   */
  async converse<Answer = string>(options: ConverseOptions<Context, Answer>): Promise<Talk<Context, Answer>> {
    const [{ CONVERSE_RULES }, { openTalk }] = await Promise.all([
      import("../agent/agent-options.ts"),
      import("../agent/open-talk.ts"),
    ]);
    const read = readOptions("converse", options, CONVERSE_RULES);
    const { onEvent, model, context, tenant = this.#scope.tenant } = read;
    const listener = onEvent && ((event: AgentEvent) => emit(onEvent, event));
    const telemetry = await this.#telemetry?.now;
    const { told, flush, end } = this.#listening(this.#scopeFor("converse", read).with({ telemetry }), listener);
    return openTalk<Context, Answer>(
      told,
      { given: options, read },
      {
        untilEnded: (running) => this.#untilEnded(running),
        inPlace: async (signal, work) => {
          try {
            return await this.#inPlace(told.with({ signal }), work);
          } finally {
            await flush();
          }
        },
        selectTools: (tools) =>
          this.#gateFor(
            { model, context, tenant },
            this.#parts.gate.beside(this.tools.select(tools, "setTools(tools)")),
          ).tools,
        onDisposed: end,
      },
    );
  }

  /**
   * Makes one call of a tool through the gate, for a host that runs a model's loop itself. The call is checked, limited
   * and journalled like any other, as an execution of its own. Resolves with the value, or with the code and the sentence
   * of a refusal or failure. Rejects with a `PortcullisError` only if an option is invalid, the runtime is closed or the
   * journal cannot be written.
   */
  async call(options: CallOptions<Context>): Promise<CallAnswer> {
    const read = readOptions("call", options, CALL_RULES);
    const { tool, caller } = read;
    const inputText = jsonTextOf(read.input) ?? "null";
    return this.#run("call", read, undefined, (scope) => callTool(scope, { tool, caller, inputText }));
  }

  /**
   * Tools for the loop of another package: `run_program`, as that loop takes a tool. A failed program is a failed call
   * there, and the loop's signal cancels it. Throws `option_invalid` for an unknown loop or option.
   */
  asTool<Loop extends LoopName>(
    loop: Loop,
    ...given: ContextArguments<AsToolOptions<Context>, Context>
  ): LoopTools[Loop] {
    const [options = {}] = given;
    const approves = this.#parts.approve !== undefined;
    const { tenant } = this.#parts;
    const gate = this.#gateFor({ context: (options as { readonly context?: unknown }).context });
    const host: ProgramHost = {
      tools: gate.tools,
      programs: declarePrograms(gate.search, "javascript", { tenant, limits: this.limits, shares: false }),
      approves,
      execute: (program, own) => this.execute(program, own as ExecuteOptions<Context>),
      search: (input, context, signal) => {
        const call = { tool: SEARCH_TOOLS, caller: "programmatic", input, context, ...(signal && { signal }) } as const;
        return this.call(call as unknown as CallOptions<Context>);
      },
    };
    return toolsFor(loop, options, host);
  }

  /**
   * A runtime on the same sandbox with the same approval, and with other tools, limits, another tenant or logger where they are given. A tool that is in both
   * runtimes shares its `concurrency` and its `rate` between them. The derived runtime closes with this one; dispose of it to close it
   * earlier. Throws a `PortcullisError` if an option is invalid.
   */
  derive(options: DeriveOptions<Context>): Runtime<Context> {
    const read = readOptions("derive", options, DERIVE_RULES);
    const { journal, onEvent, logger, gate, limits, tenant } = this.#parts;
    const tools = read.tools && new CurrentTools(read.tools, "derive({ tools })");
    return new Runtime<Context>({
      ...this.#parts,
      limits: resolveLimits(limits, read.limits, optionsIn("derive", "limits")),
      tenant: read.tenant ?? tenant,
      journal: read.journal ?? journal,
      onEvent: read.onEvent ?? onEvent,
      logger: read.logger ?? logger,
      ...(tools ? { tools, gate: gate.beside(tools.set) } : {}),
      ownsSandbox: false,
      parent: { closing: this.closing, untilEnded: (running) => this.#untilEnded(running) },
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
    const { caller, language, tenant = this.#scope.tenant } = read;
    const share = this.#parts.gate.held.share(tenant, 0);
    try {
      const work = <Value>(slices: SlicedWork<Value>) => share.lane.work(slices);
      const onError = (error: unknown) => {
        throw error;
      };
      return await this.#gateFor({ tenant }).search.find({ query, limit, caller, tenant, language, work, onError });
    } finally {
      share.end();
    }
  }

  /** The tools that exist for the runtime's tenant, of those that it was given. */
  get enabledTools(): ToolSet {
    return this.#gateFor({}).tools;
  }

  /** Typed stubs of the tools that programs may call, for a model to read. */
  declarations(options?: DeclarationOptions): string {
    return declareTools(this.#gateFor({}).tools.visibleTo(["programmatic"]), options);
  }

  /** A handle of an execution or a conversation in the journal. The id is checked only when a method of the handle is called. */
  execution(id: ExecutionId): ExecutionHandle {
    const { journal, sandbox, closing } = this;
    return {
      id,
      records: () => Array.fromAsync(journal.read(id)),
      replay: async () => {
        const { replay } = await import("../programs/replay.ts");
        return replay(() => journal.read(id), sandbox, closing);
      },
    };
  }

  /** Cancels all executions and conversations, waits for their ends, and ends the processes of the sandbox. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close.abort(new PortcullisError("runtime_closed", "The runtime was closed."));
    await Promise.allSettled(this.#running);
    this.#removeLoad?.();
    if (this.#parts.ownsSandbox) await this.sandbox[Symbol.asyncDispose]();
  }

  /**
   * Closes the runtime and leaves its executions and conversations open in the journal, where `recover` of another runtime
   * takes them up; their methods reject with `runtime_suspended`. Single calls are cancelled. Waits `afterMs` first for what
   * runs to end by itself. Resolves with the number of executions that were left open, once nothing runs any more. A runtime
   * that owns its sandbox is disposed of after that, as always.
   */
  async suspend(afterMs = 0): Promise<number> {
    await this.#untilIdle(afterMs);
    const running = [...this.#running];
    this.#close.abort(
      new PortcullisError(
        "runtime_suspended",
        "The runtime was suspended. What it ran stays open in the journal: `recover` or `resume` of another runtime goes on with it.",
      ),
    );
    const ended = await Promise.allSettled(running);
    return ended.filter((one) => one.status === "rejected" && isSuspended(one.reason)).length;
  }

  async #untilIdle(ms: number): Promise<void> {
    const deadline = Promise.withResolvers<"late">();
    const timer = setTimeout(() => deadline.resolve("late"), ms);
    while (this.#running.size > 0)
      if ((await Promise.race([Promise.allSettled(this.#running), deadline.promise])) === "late") break;
    clearTimeout(timer);
  }

  /** Runs the work of one method in the runtime's scope, changed by the method's options. `subject` is the method, for errors. */
  async #run<Value>(
    subject: string,
    options: ScopeOptions,
    listener: ((event: AgentEvent) => void) | undefined,
    work: (scope: AgentScope) => Promise<Value>,
  ): Promise<Value> {
    // Without an SDK nothing is waited for.
    const loading = this.#telemetry?.now;
    const telemetry = loading && (await loading);
    const scope = this.#scopeFor(subject, options);
    const { told, end } = this.#listening(telemetry ? scope.with({ telemetry }) : scope, listener);
    try {
      return await this.#untilEnded(this.#inPlace(told, () => work(told), options));
    } finally {
      await end();
    }
  }

  /** Runs work when there is a place for it. */
  #inPlace<Value>(
    { tenant, signal, onEvent }: Pick<AgentScope, "tenant" | "signal" | "onEvent">,
    work: () => Promise<Value>,
    { execution = "" }: Pick<ScopeOptions, "execution"> = {},
  ): Promise<Value> {
    const { places } = this.#parts;
    if (!places) return work();
    const onWaiting = () => onEvent({ type: "execution_queued", execution, tenant, ...places.state });
    return places.run({ tenant, signal, onWaiting }, work);
  }

  /** A scope whose events are told to the listener and to the runtime's, until `end`. */
  #listening(
    scope: AgentScope,
    listener: ((event: AgentEvent) => void) | undefined,
  ): { readonly told: AgentScope; readonly flush: () => Promise<void>; readonly end: () => Promise<void> } {
    const { onEvent, logger = onEvent || listener ? undefined : CONSOLE_LOGGER } = this.#parts;
    const failures = logger && new FailureLog(logger);
    const tell = (event: AgentEvent) => {
      listener?.(event);
      if (!isExecutionEvent(event)) return;
      emit(onEvent, event);
      if (event.type === "call_ended") failures?.take(event);
    };
    const redactor = this.#redactor;
    const events = redactor && new RedactedEvents(redactor, tell);
    const told = scope.with({ onEvent: events ? (event) => events.take(event) : tell });
    const flush = async () => events?.flush();
    const end = async () => {
      await flush();
      failures?.end();
    };
    return { told, flush, end };
  }

  #scopeFor(subject: string, options: ScopeOptions): AgentScope {
    const { language, tenant, signal, limits, tools, context, approve, approvePrograms } = options;
    if (language !== undefined && !this.sandbox.languages.includes(language))
      throw optionError(
        `${subject}({ language })`,
        `one that the ${this.sandbox.name} sandbox runs (${this.sandbox.languages.join(", ")})${language === "python" ? ', or sandbox: "docker" for the runtime' : ""}`,
        language,
      );
    const changed = resolveLimits(this.limits, limits, optionsIn(subject, "limits"));
    const gate = this.#gate;
    const selected = tools && gate.tools.select(tools, `${subject}({ tools })`);
    if (this.closing.aborted)
      throw new PortcullisError("runtime_closed", "The runtime is closed and takes no further programs.");
    return this.#scope.with({
      gate: this.#gateFor(options, selected ? gate.beside(selected) : gate),
      language: language ?? this.#scope.language,
      limits: changed,
      tenant: tenant ?? this.#scope.tenant,
      context,
      approve: approve ?? this.#scope.approve,
      approvePrograms: approvePrograms ?? this.#scope.approvePrograms,
      signal: signal ? AbortSignal.any([signal, this.closing]) : this.closing,
    });
  }

  /** The gate for the tools that exist for this tenant, context and model. */
  #gateFor(
    { tenant = this.#scope.tenant, context, model }: Pick<ScopeOptions, "tenant" | "context" | "model">,
    gate = this.#gate,
  ): Gate {
    return gate.for({ tenant, context, model: model?.name }, (failed) => this.#tellSwitchFailed(failed));
  }

  /** Tells the operator once of each tool whose `enabled` fails: it is asked for every execution. */
  #tellSwitchFailed({ tool, error }: SwitchFailure): void {
    const { logger = CONSOLE_LOGGER } = this.#parts;
    if (this.#switchFailures.has(tool)) return;
    this.#switchFailures.add(tool);
    const tell = (err: Error) => {
      try {
        logger.error({ tool, execution: "", callId: "", code: "not_enabled", err }, err.message);
      } catch {}
    };
    const redactor = this.#redactor;
    if (!redactor) return tell(error);
    // Without its stack and its cause, which have texts of their own.
    void redactor.text(error.message, { to: "log", tool }).then(({ text }) => tell(new Error(text)));
  }

  async #untilEnded<Value>(running: Promise<Value>): Promise<Value> {
    this.#running.add(running);
    try {
      const { parent } = this.#parts;
      return await (parent ? parent.untilEnded(running) : running);
    } finally {
      this.#running.delete(running);
    }
  }
}

type ScopeOptions = Partial<
  Pick<
    Resolved<typeof AGENT_RULES>,
    "language" | "limits" | "tenant" | "signal" | "tools" | "context" | "approve" | "approvePrograms"
  >
> & { readonly model?: Pick<Model, "name"> | undefined; readonly execution?: ExecutionId | undefined };

/** What the journal tells of an execution or a conversation (`runtime.status`). */
export interface ExecutionStatus extends Omit<ExecutionFacts, "ended"> {
  /** Of a program that has ended or waits. */
  readonly report?: Report;
}

/**
 * An execution or a conversation in a runtime's journal. Its methods reject with `execution_unknown` if the journal does
 * not hold the id.
 */
export interface ExecutionHandle {
  readonly id: ExecutionId;
  /** The records of the journal, the header first. */
  readonly records: () => Promise<readonly JournalRecord[]>;
  /**
   * Runs the program again in a fresh guest, with the events of the journal, and compares its turns with the journal.
   * No handler runs. Rejects with `option_invalid` for a conversation, with `journal_invalid` or `journal_version` for
   * records that cannot be read, and with `runtime_closed`.
   */
  readonly replay: () => Promise<Replayed>;
}

function isSuspended(error: unknown): boolean {
  return PortcullisError.is(error) && error.code === "runtime_suspended";
}

/** Calls a listener. Its errors and rejections are ignored, so that it cannot end a program. */
function emit<Event>(listener: ((event: Event) => void) | undefined, event: Event): void {
  try {
    const result: unknown = listener?.(event);
    if (result instanceof Promise) result.catch(() => {});
  } catch {}
}

/** The gate of a new runtime. */
export function openGate(tools: CurrentTools, heldBytes: number | undefined, search: SearchSettings): Gate {
  return new Gate(tools.set, new HeldBytes(heldBytes), search);
}
