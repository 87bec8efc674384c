import type { AgentReport } from "./agent/agent-report.ts";
import { runAgent } from "./agent/agent.ts";
import { AGENT_RULES, type AgentOptions, programsFor } from "./agent/agent-options.ts";
import { AgentScope } from "./agent/agent-scope.ts";
import { type AgentEvent, isExecutionEvent } from "./agent/event.ts";
import { resumeAgent, runAgentOnce } from "./agent/resume-agent.ts";
import { RESUME_AGENT_RULES, type ResumeAgentOptions } from "./agent/resume-agent-options.ts";
import { declarePrograms } from "./agent/run-program.ts";
import { optionError, PortcullisError } from "./errors.ts";
import type { Approve } from "./gate/approval.ts";
import { type CallAnswer, callTool } from "./gate/call-tool.ts";
import { FailureLog, type Logger, LOGGER } from "./gate/failure-log.ts";
import { Gate } from "./gate/gate.ts";
import type { ExecutionId } from "./journal/execution-id.ts";
import type { Journal, ListOptions } from "./journal/journal.ts";
import { createMemoryJournal } from "./journal/memory-journal.ts";
import type { JournalRecord } from "./journal/record.ts";
import { type AsToolOptions, type LoopName, type LoopTools, toolsFor } from "./loops/loops.ts";
import type { ProgramHost } from "./loops/program-tool.ts";
import {
  abortSignal,
  callback,
  checkValue,
  flag,
  object,
  oneOf,
  option,
  optionsIn,
  type OptionsOf,
  readOptions,
  required,
  type Resolved,
  wholeNumber,
  withDefault,
  words,
} from "./options/options.ts";
import { CONSOLE_LOGGER } from "./output/console-logger.ts";
import { type Report, reportOf } from "./output/report.ts";
import { execute, type ExecutionEvent } from "./programs/execute.ts";
import {
  APPROVE,
  CONTEXT,
  type ContextArguments,
  EXECUTE_RULES,
  LANGUAGE,
  type ExecuteOptions,
  TENANT,
  type WithContext,
} from "./programs/execute-options.ts";
import { defaultLimitsFor, type Limits, LIMITS_OPTION, resolveLimits } from "./programs/limits.ts";
import { type ListedExecution, listExecutions } from "./executions/list-executions.ts";
import { replay } from "./programs/replay.ts";
import type { Decision } from "./programs/decide.ts";
import { executeOnce } from "./programs/execute-once.ts";
import { decide } from "./executions/decide.ts";
import { recover, type Unrecovered } from "./executions/recover.ts";
import { RECOVER_RULES, type RecoverOptions } from "./executions/recover-options.ts";
import { resume } from "./programs/resume.ts";
import { resultSchemaOf } from "./programs/result-schema.ts";
import { RESUME_RULES, type ResumeOptions } from "./programs/resume-options.ts";
import type { Replayed } from "./programs/replay-turns.ts";
import { createDockerSandbox } from "./sandboxes/docker/docker-sandbox.ts";
import { createIsolateSandbox } from "./sandboxes/isolate/isolate-sandbox.ts";
import type { Sandbox } from "./sandboxes/sandbox.ts";
import { declareTools, type DeclarationOptions } from "./tools/declarations.ts";
import { FOUND_MAX } from "./tools/search/search-tool.ts";
import { type FoundTool, type SearchFilter, STUB_TOKENS } from "./tools/search/tool-search.ts";
import type { Embed } from "./tools/search/tool-vectors.ts";
import { type Caller, CALLERS, type Tool } from "./tools/tool.ts";
import { SEARCH_TOOLS } from "./tools/tool-name.ts";
import { TOOLS, ToolSet } from "./tools/tool-set.ts";
import { HeldBytes } from "./values/held-bytes.ts";
import { jsonTextOf } from "./values/json-text.ts";
import type { SlicedWork } from "./values/slice-scheduler.ts";

const JOURNAL = option<Journal>("a journal: create, append, read, find, list and renew", isJournal);
const LISTENER = callback<(event: ExecutionEvent) => void>();

/** How tools are found where there are too many to be listed. */
const SEARCH_RULES = {
  /** Gives a vector for each text. Searches then go by meaning too: tools are ranked by words and by vectors, and both count. */
  embed: callback<Embed>(),
  /** Whether a tool may be found by this caller of this tenant. It is asked at each search, and does not keep a tool from being called. */
  filter: callback<SearchFilter>(),
};

export type SearchOptions = OptionsOf<typeof SEARCH_RULES>;

const RUNTIME_RULES = {
  /** The tools that programs and models may call. */
  tools: required(TOOLS),
  /** Where programs run: `"isolate"` by default. The caller disposes of a sandbox that it passes in. */
  sandbox: option<"isolate" | "docker" | Sandbox>(`"isolate", "docker" or a sandbox`, isSandboxOption),
  /** Changes to the default limits. */
  limits: LIMITS_OPTION,
  /** Decides calls that need approval. */
  approve: APPROVE,
  /**
   * Holds the source of each program for a decision of `approve` before it starts: a request for the tool `run_program` with
   * the input `{ source, language }`. False by default. Programs that run at a provider are not held.
   */
  approvePrograms: withDefault(flag(), false),
  /** Where executions are recorded: in memory by default. */
  journal: JOURNAL,
  /** Tenant of executions without a tenant of their own; `"default"` by default. Programs of different tenants never share a process. */
  tenant: TENANT,
  /**
   * Bytes that all executions together may hold in this process's memory: texts of guests, inputs and results. By
   * default a quarter of V8's heap limit or of the available memory, whichever is less. Below 1 MiB no program can start.
   */
  heldBytes: wholeNumber({ min: 1024 * 1024 }),
  /**
   * How long another driver must wait before it may take over an execution whose driver has died, in milliseconds; 15
   * seconds by default. A driver renews its lease three times in that time.
   */
  leaseMs: wholeNumber({ min: 100, max: 86_400_000, default: 15_000 }),
  /** Called with each event of an execution. What it throws is ignored. */
  onEvent: LISTENER,
  /**
   * Told of each handler that failed, with its error: pino, console or any object with `error`. Without it, and without
   * an `onEvent`, these failures go to `console.error`.
   */
  logger: LOGGER,
  /**
   * Maximum tokens of the declaration of `run_program` with the stubs of all tools that programs may call; 1,500 by
   * default. Above it, a model is told their namespaces, and finds tools by `search_tools` and `searchTools`.
   */
  stubTokens: wholeNumber({ min: 1, default: STUB_TOKENS }),
  /** How tools are searched for. */
  search: object<SearchOptions>(),
};

/** `Context` is the type of the `context` that executions, conversations and calls pass to handlers and to `approve`. */
export type RuntimeOptions<Context = unknown> = Omit<OptionsOf<typeof RUNTIME_RULES>, "tools" | "approve"> & {
  /** The tools that programs and models may call. */
  readonly tools: readonly Tool<Context>[];
  /** Decides calls that need approval. */
  readonly approve?: Approve<Context>;
};

const SEARCH_TOOLS_RULES = {
  /** Who would call the tools: programs, by default, or a model directly. */
  caller: withDefault(oneOf<Caller>(CALLERS), "programmatic"),
  /** Language of the stubs, JavaScript by default. */
  language: withDefault(LANGUAGE, "javascript"),
  /** The tenant who searches; the runtime's by default. */
  tenant: TENANT,
};

export type SearchToolsOptions = OptionsOf<typeof SEARCH_TOOLS_RULES>;

/** A derived runtime inherits the options that are omitted. */
const DERIVE_RULES = {
  /** The tools that programs and models may call. */
  tools: required(TOOLS),
  /** Where executions are recorded. */
  journal: JOURNAL,
  /** Called with each event of an execution. What it throws is ignored. */
  onEvent: LISTENER,
};

export type DeriveOptions<Context = unknown> = Omit<OptionsOf<typeof DERIVE_RULES>, "tools"> & {
  /** The tools that programs and models may call. */
  readonly tools: readonly Tool<Context>[];
};

const DECISIONS = option<Readonly<Record<string, Decision>>>(
  'decisions by call id, like { "1": { allow: true } }',
  (given) => typeof given === "object" && given !== null && !Array.isArray(given) && Object.keys(given).length > 0,
);

const CALL_RULES = {
  /** Name of the tool. */
  tool: required(words("the name of a tool")),
  /** What the tool is given: a value that is JSON. */
  input: required(option<unknown>("a value that is JSON", (value) => jsonTextOf(value) !== undefined)),
  /** Who makes the call: a model directly, or a program. There is no default. */
  caller: required(oneOf<Caller>(CALLERS)),
  /** The tenant of the call; the runtime's by default. */
  tenant: TENANT,
  /** The host's own value, like the user of a request. The handler and `approve` get it. */
  context: CONTEXT,
  /** Decides about the call if it needs approval, in place of the runtime's `approve`. */
  approve: APPROVE,
  /** Cancels the call. */
  signal: abortSignal(),
};

export type CallOptions<Context = unknown> = WithContext<OptionsOf<typeof CALL_RULES>, Context>;

/**
 * Creates a runtime: tools behind one gate, a sandbox to run programs in, and a journal. Rejects with a
 * `PortcullisError` if an option is invalid or the sandbox cannot run on this machine. Dispose of it with `await using`.
 */
export async function createRuntime<Context = unknown>(options: RuntimeOptions<Context>): Promise<Runtime<Context>> {
  const read = readOptions("createRuntime", options, RUNTIME_RULES);
  const {
    approve,
    approvePrograms,
    heldBytes,
    journal = createMemoryJournal(),
    leaseMs,
    onEvent,
    logger,
    stubTokens,
    tenant = "default",
  } = read;
  const search = readOptions(optionsIn("createRuntime", "search"), read.search ?? {}, SEARCH_RULES);
  const tools = new ToolSet(read.tools, "createRuntime({ tools })");
  const gate = new Gate(tools, new HeldBytes(heldBytes), { ...search, stubTokens });
  const limits = resolveLimits(defaultLimitsFor(journal), read.limits, optionsIn("createRuntime", "limits"));
  const sandbox = sandboxOf(read.sandbox ?? "isolate");
  const runtime = new Runtime<Context>({
    sandbox,
    ownsSandbox: sandbox !== read.sandbox,
    gate,
    journal,
    leaseMs,
    limits,
    tenant,
    approve,
    approvePrograms,
    onEvent,
    logger,
    parent: undefined,
  });
  await sandbox.warm?.();
  return runtime;
}

interface RuntimeParts {
  readonly sandbox: Sandbox;
  readonly ownsSandbox: boolean;
  readonly gate: Gate;
  readonly journal: Journal;
  readonly leaseMs: number;
  readonly limits: Limits;
  readonly tenant: string;
  readonly approve: Approve | undefined;
  readonly approvePrograms: boolean;
  readonly onEvent: RuntimeOptions["onEvent"] | undefined;
  readonly logger: Logger | undefined;
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
  /** Aborted when the runtime closes; the reason is a `PortcullisError` with the code `runtime_closed`. */
  readonly closing: AbortSignal;
  readonly #parts: RuntimeParts;
  readonly #scope: AgentScope;
  readonly #close = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(parts: RuntimeParts) {
    const { sandbox, gate, journal, leaseMs, limits, tenant, approve, approvePrograms, parent } = parts;
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
      language: EXECUTE_RULES.language.default,
      signal: this.closing,
      onEvent: () => {},
      above: undefined,
    });
  }

  get tools(): ToolSet {
    return this.#parts.gate.tools;
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
      const running =
        id === undefined ? execute(scope, program, id, result) : executeOnce(scope, program, id, { result });
      return reportOf<Value>(await running, scope.limits, scope.gate.tools);
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
      const resumed = await resume(scope, id, { ...read, result, asks: read.approve !== undefined });
      return reportOf<Value>(resumed, scope.limits, scope.gate.tools);
    });
  }

  /**
   * Takes up a conversation that waits, or whose host died, with the model that it began with, and drives it to its
   * ending or until it waits again. No recorded turn is asked for again. A call of one of its programs has both ids, like
   * `call_2/17`. One that has ended gives its report, and nothing runs. Rejects as `resume` and `agent` do.
   */
  async resumeAgent(id: ExecutionId, options: ResumeAgentOptions<Context>): Promise<AgentReport> {
    const read = readOptions("resumeAgent", options, RESUME_AGENT_RULES);
    const { onEvent } = read;
    const listener = onEvent && ((event: AgentEvent) => emit(onEvent, event));
    return this.#run("resumeAgent", read, listener, (scope) =>
      resumeAgent(scope, id, { ...read, asks: read.approve !== undefined }),
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
    await decide({ journal: this.journal, tenant: tenant ?? this.#scope.tenant }, id, { decisions });
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
    const { concurrency, context, model, result } = readOptions("recover", options, RECOVER_RULES);
    const { limits, gate } = this.#scopeFor("recover", {});
    const recovering = recover({
      journal: this.journal,
      signal: this.closing,
      concurrency,
      model: (conversation) => model?.(conversation),
      result: (one) => resultSchemaOf(result?.(one), "recover({ result })"),
      run: (one, work) =>
        this.#run("recover", { tenant: one.tenant, context: context?.(one) }, undefined, (scope) => work(scope)),
    });
    for await (const one of recovering)
      yield "error" in one || "transcript" in one ? one : reportOf(one, limits, gate.tools);
  }

  /** Executions and conversations of the journal, the latest first. */
  executions(options?: ListOptions): AsyncIterable<ListedExecution> {
    return listExecutions(this.journal, options);
  }

  /**
   * Runs a conversation in which a model works on a task with the tools, and resolves with the report, whatever the
   * ending. Rejects with a `PortcullisError` only if an option is invalid, the model cannot be called at all, the
   * runtime is closed, the sandbox cannot run or the journal cannot be written.
   */
  async agent(options: AgentOptions<Context>): Promise<AgentReport> {
    const read = readOptions("agent", options, AGENT_RULES);
    const { model, task, maxTurns, maxTokens, onEvent } = read;
    const listener = onEvent && ((event: AgentEvent) => emit(onEvent, event));
    return this.#run("agent", read, listener, (scope) => {
      const programs = programsFor(read.programs, scope.gate.tools);
      const request = { model, task, programs, maxTurns, maxTokens };
      const { execution } = read;
      return execution === undefined ? runAgent(scope, request) : runAgentOnce(scope, request, execution);
    });
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
    const { tools } = this;
    const approves = this.#parts.approve !== undefined;
    const { gate, tenant } = this.#parts;
    const host: ProgramHost = {
      tools,
      programs: declarePrograms(gate.search, "javascript", tenant),
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
   * A runtime with other tools on the same sandbox, with the same limits, approval and tenant. A tool that is in both
   * runtimes shares its `concurrency` between them. The derived runtime closes with this one; dispose of it to close it
   * earlier. Throws a `PortcullisError` if an option is invalid.
   */
  derive(options: DeriveOptions<Context>): Runtime<Context> {
    const read = readOptions("derive", options, DERIVE_RULES);
    const { journal, onEvent, gate } = this.#parts;
    return new Runtime<Context>({
      ...this.#parts,
      journal: read.journal ?? journal,
      onEvent: read.onEvent ?? onEvent,
      gate: gate.beside(new ToolSet(read.tools, "derive({ tools })")),
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
      return await this.#parts.gate.search.find({ query, limit, caller, tenant, language, work, onError });
    } finally {
      share.end();
    }
  }

  /** Typed stubs of the tools that programs may call, for a model to read. */
  declarations(options?: DeclarationOptions): string {
    return declareTools(this.tools.visibleTo(["programmatic"]), options);
  }

  /** A handle of an execution or a conversation in the journal. The id is checked only when a method of the handle is called. */
  execution(id: ExecutionId): ExecutionHandle {
    const { journal, sandbox, closing } = this;
    return {
      id,
      records: () => Array.fromAsync(journal.read(id)),
      replay: async () => replay(() => journal.read(id), sandbox, closing),
    };
  }

  /** Cancels all executions and conversations, waits for their ends, and ends the processes of the sandbox. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close.abort(new PortcullisError("runtime_closed", "The runtime was closed."));
    await Promise.allSettled(this.#running);
    if (this.#parts.ownsSandbox) await this.sandbox[Symbol.asyncDispose]();
  }

  /** Runs the work of one method in the runtime's scope, changed by the method's options. `subject` is the method, for errors. */
  async #run<Value>(
    subject: string,
    options: ScopeOptions,
    listener: ((event: AgentEvent) => void) | undefined,
    work: (scope: AgentScope) => Promise<Value>,
  ): Promise<Value> {
    const scope = this.#scopeFor(subject, options);
    const { onEvent, logger = onEvent || listener ? undefined : CONSOLE_LOGGER } = this.#parts;
    const failures = logger && new FailureLog(logger);
    const told = scope.with({
      onEvent: (event) => {
        listener?.(event);
        if (!isExecutionEvent(event)) return;
        emit(onEvent, event);
        if (event.type === "call_ended") failures?.take(event);
      },
    });
    try {
      return await this.#untilEnded(work(told));
    } finally {
      failures?.end();
    }
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
    const { gate } = this.#parts;
    const selected = tools && this.tools.select(tools, `${subject}({ tools })`);
    if (this.closing.aborted)
      throw new PortcullisError("runtime_closed", "The runtime is closed and takes no further programs.");
    return this.#scope.with({
      gate: selected ? gate.beside(selected) : gate,
      language: language ?? this.#scope.language,
      limits: changed,
      tenant: tenant ?? this.#scope.tenant,
      context,
      approve: approve ?? this.#scope.approve,
      approvePrograms: approvePrograms ?? this.#scope.approvePrograms,
      signal: signal ? AbortSignal.any([signal, this.closing]) : this.closing,
    });
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
>;

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

/** Calls a listener. Its errors and rejections are ignored, so that it cannot end a program. */
function emit<Event>(listener: ((event: Event) => void) | undefined, event: Event): void {
  try {
    const result: unknown = listener?.(event);
    if (result instanceof Promise) result.catch(() => {});
  } catch {}
}

function sandboxOf(sandbox: "isolate" | "docker" | Sandbox): Sandbox {
  if (sandbox === "isolate") return createIsolateSandbox();
  return sandbox === "docker" ? createDockerSandbox() : sandbox;
}

function isSandboxOption(value: unknown): boolean {
  if (value === "isolate" || value === "docker") return true;
  return typeof value === "object" && value !== null && "open" in value && typeof value.open === "function";
}

function isJournal(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { create, append, read, find, list, renew } = value as Partial<Journal>;
  return [create, append, read, find, list, renew].every((method) => typeof method === "function");
}
