import { type AgentReport, runAgent } from "./agent/agent.ts";
import { AGENT_RULES, type AgentOptions, programsFor } from "./agent/agent-options.ts";
import { AgentScope } from "./agent/agent-scope.ts";
import { isExecutionEvent } from "./agent/event.ts";
import { optionError, PortcullisError } from "./errors.ts";
import type { Approve } from "./gate/approval.ts";
import { Gate } from "./gate/gate.ts";
import type { ExecutionId } from "./journal/execution-id.ts";
import type { Journal } from "./journal/journal.ts";
import { createMemoryJournal } from "./journal/memory-journal.ts";
import type { JournalRecord } from "./journal/record.ts";
import {
  callback,
  option,
  optionsIn,
  type OptionsOf,
  readOptions,
  required,
  type Resolved,
  wholeNumber,
} from "./options/options.ts";
import { type Report, reportOf } from "./output/report.ts";
import { execute, type ExecutionEvent } from "./programs/execute.ts";
import { EXECUTE_RULES, type ExecuteOptions, TENANT } from "./programs/execute-options.ts";
import { DEFAULT_LIMITS, type Limits, LIMITS_OPTION, resolveLimits } from "./programs/limits.ts";
import { replay } from "./programs/replay.ts";
import type { Replayed } from "./programs/replay-turns.ts";
import { createDockerSandbox } from "./sandboxes/docker/docker-sandbox.ts";
import { createIsolateSandbox } from "./sandboxes/isolate/isolate-sandbox.ts";
import type { Sandbox } from "./sandboxes/sandbox.ts";
import { declareTools, type DeclarationOptions } from "./tools/declarations.ts";
import { TOOLS, ToolSet } from "./tools/tool-set.ts";
import { HeldBytes } from "./values/held-bytes.ts";

const JOURNAL = option<Journal>("a journal: create, append, read and list", isJournal);
const LISTENER = callback<(event: ExecutionEvent) => void>();

const RUNTIME_RULES = {
  /** The tools that programs and models may call. */
  tools: required(TOOLS),
  /** Where programs run: `"isolate"` by default. The caller disposes of a sandbox that it passes in. */
  sandbox: option<"isolate" | "docker" | Sandbox>(`"isolate", "docker" or a sandbox`, isSandboxOption),
  /** Changes to the default limits. */
  limits: LIMITS_OPTION,
  /** Decides calls that need approval. */
  approve: callback<Approve>(),
  /** Where executions are recorded: in memory by default. */
  journal: JOURNAL,
  /** Tenant of executions without a tenant of their own; `"default"` by default. Programs of different tenants never share a process. */
  tenant: TENANT,
  /**
   * Bytes that all executions together may hold in this process's memory: texts of guests, inputs and results. By
   * default a quarter of V8's heap limit or of the available memory, whichever is less. Below 1 MiB no program can start.
   */
  heldBytes: wholeNumber({ min: 1024 * 1024 }),
  /** Called with each event of an execution. What it throws is ignored. */
  onEvent: LISTENER,
};

export type RuntimeOptions = OptionsOf<typeof RUNTIME_RULES>;

/** A derived runtime inherits the options that are omitted. */
const DERIVE_RULES = {
  /** The tools that programs and models may call. */
  tools: required(TOOLS),
  /** Where executions are recorded. */
  journal: JOURNAL,
  /** Called with each event of an execution. What it throws is ignored. */
  onEvent: LISTENER,
};

export type DeriveOptions = OptionsOf<typeof DERIVE_RULES>;

/**
 * Creates a runtime: tools behind one gate, a sandbox to run programs in, and a journal. Rejects with a
 * `PortcullisError` if an option is invalid or the sandbox cannot run on this machine. Dispose of it with `await using`.
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const read = readOptions("createRuntime", options, RUNTIME_RULES);
  const { approve, heldBytes, journal = createMemoryJournal(), onEvent, tenant = "default" } = read;
  const gate = new Gate(new ToolSet(read.tools, "createRuntime({ tools })"), approve, new HeldBytes(heldBytes));
  const limits = resolveLimits(DEFAULT_LIMITS, read.limits, optionsIn("createRuntime", "limits"));
  const sandbox = sandboxOf(read.sandbox ?? "isolate");
  const runtime = new Runtime({
    sandbox,
    ownsSandbox: sandbox !== read.sandbox,
    gate,
    journal,
    limits,
    tenant,
    onEvent,
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
  readonly limits: Limits;
  readonly tenant: string;
  readonly onEvent: RuntimeOptions["onEvent"] | undefined;
  /** The runtime that this one is derived from. */
  readonly parent: Runtime | undefined;
}

/** Runs programs and conversations. Made by `createRuntime`. */
export class Runtime implements AsyncDisposable {
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
    const { sandbox, gate, journal, limits, tenant, onEvent, parent } = parts;
    this.limits = limits;
    this.sandbox = sandbox;
    this.journal = journal;
    this.closing = parent ? AbortSignal.any([parent.closing, this.#close.signal]) : this.#close.signal;
    this.#parts = parts;
    this.#scope = new AgentScope({
      sandbox,
      gate,
      journal,
      limits,
      tenant,
      language: EXECUTE_RULES.language.default,
      signal: this.closing,
      onEvent: (event) => isExecutionEvent(event) && emit(onEvent, event),
      above: undefined,
    });
  }

  get tools(): ToolSet {
    return this.#parts.gate.tools;
  }

  /**
   * Runs a program to its ending and resolves with the report, whatever the ending. Rejects with a `PortcullisError`
   * only if an option is invalid, the runtime is closed, the sandbox cannot run or the journal cannot be written.
   */
  async execute(program: string, options: ExecuteOptions = {}): Promise<Report> {
    const scope = this.#scopeFor("execute", readOptions("execute", options, EXECUTE_RULES));
    if (typeof program !== "string") throw optionError("execute(program)", "source text", program);
    return reportOf(await this.#untilEnded(execute(scope, program)), scope.limits, this.tools);
  }

  /**
   * Runs a conversation in which a model works on a task with the tools, and resolves with the report, whatever the
   * ending. Rejects with a `PortcullisError` only if an option is invalid, the model cannot be called at all, the
   * runtime is closed, the sandbox cannot run or the journal cannot be written.
   */
  async agent(options: AgentOptions): Promise<AgentReport> {
    const { model, task, maxTurns, maxTokens, onEvent, tools, approve, ...read } = readOptions(
      "agent",
      options,
      AGENT_RULES,
    );
    const scope = this.#scopeFor("agent", read);
    const { gate } = scope;
    const toolSet = tools === undefined ? gate.tools : new ToolSet(tools, "agent({ tools })");
    const programs = programsFor(read.programs, toolSet);
    const own = scope.with({
      // Agents that are tools use the same `approve` as this conversation.
      gate: tools === undefined && approve === undefined ? gate : gate.beside(toolSet, approve ?? gate.approve),
      onEvent: (event) => {
        emit(onEvent, event);
        scope.onEvent(event);
      },
    });
    return this.#untilEnded(runAgent(own, { model, task, programs, maxTurns, maxTokens }));
  }

  /**
   * A runtime with other tools on the same sandbox, with the same limits, approval and tenant. A tool that is in both
   * runtimes shares its `concurrency` between them. The derived runtime closes with this one; dispose of it to close it
   * earlier. Throws a `PortcullisError` if an option is invalid.
   */
  derive(options: DeriveOptions): Runtime {
    const read = readOptions("derive", options, DERIVE_RULES);
    const { journal, onEvent, gate } = this.#parts;
    return new Runtime({
      ...this.#parts,
      journal: read.journal ?? journal,
      onEvent: read.onEvent ?? onEvent,
      gate: gate.beside(new ToolSet(read.tools, "derive({ tools })"), gate.approve),
      ownsSandbox: false,
      parent: this,
    });
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
      records: () => journal.read(id),
      replay: async () => replay(await journal.read(id), sandbox, closing),
    };
  }

  /** Cancels all executions and conversations, waits for their ends, and ends the processes of the sandbox. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close.abort(new PortcullisError("runtime_closed", "The runtime was closed."));
    await Promise.allSettled(this.#running);
    if (this.#parts.ownsSandbox) await this.sandbox[Symbol.asyncDispose]();
  }

  /** The runtime's scope with the options of one execution or conversation. `subject` is the called method, for errors. */
  #scopeFor(subject: string, { language, tenant, signal, limits }: ScopeOptions): AgentScope {
    if (!this.sandbox.languages.includes(language))
      throw optionError(
        `${subject}({ language })`,
        `one that the ${this.sandbox.name} sandbox runs (${this.sandbox.languages.join(", ")})${language === "python" ? ', or sandbox: "docker" for the runtime' : ""}`,
        language,
      );
    const changed = resolveLimits(this.limits, limits, optionsIn(subject, "limits"));
    if (this.closing.aborted)
      throw new PortcullisError("runtime_closed", "The runtime is closed and takes no further programs.");
    return this.#scope.with({
      language,
      limits: changed,
      tenant: tenant ?? this.#scope.tenant,
      signal: signal ? AbortSignal.any([signal, this.closing]) : this.closing,
    });
  }

  async #untilEnded<Value>(running: Promise<Value>): Promise<Value> {
    this.#running.add(running);
    try {
      const { parent } = this.#parts;
      return await (parent ? parent.#untilEnded(running) : running);
    } finally {
      this.#running.delete(running);
    }
  }
}

type ScopeOptions = Pick<Resolved<typeof EXECUTE_RULES>, "language" | "limits" | "tenant" | "signal">;

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
  const { create, append, read, list } = value as Partial<Journal>;
  return [create, append, read, list].every((method) => typeof method === "function");
}
