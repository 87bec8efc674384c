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
  /** What programs and models may call. */
  tools: required(TOOLS),
  /** Where programs run: `"isolate"` by default. A sandbox that is handed in is the caller's to dispose of. */
  sandbox: option<"isolate" | "docker" | Sandbox>(`"isolate", "docker" or a sandbox`, isSandboxOption),
  /** Changes to the default limits. */
  limits: LIMITS_OPTION,
  /** Decides about calls of tools that need approval. */
  approve: callback<Approve>(),
  /** Where executions are recorded: in memory by default. */
  journal: JOURNAL,
  /** Tenant of executions that name none; `"default"` by default. Programs of two tenants never share a process. */
  tenant: TENANT,
  /**
   * Bytes that all executions together may hold in this process's memory: texts that they sent, inputs, results. By
   * default a quarter of what V8's heap, or the machine, can have. With less than a MiB no program could be started.
   */
  heldBytes: wholeNumber({ min: 1024 * 1024 }),
  /** Called with each event of an execution. What it throws is ignored. */
  onEvent: LISTENER,
};

export type RuntimeOptions = OptionsOf<typeof RUNTIME_RULES>;

/** Where an option is left out, a derived runtime has what the runtime has that it is derived from. */
const DERIVE_RULES = {
  /** What programs and models may call. */
  tools: required(TOOLS),
  /** Where executions are recorded. */
  journal: JOURNAL,
  /** Called with each event of an execution. What it throws is ignored. */
  onEvent: LISTENER,
};

export type DeriveOptions = OptionsOf<typeof DERIVE_RULES>;

/**
 * Makes a runtime: tools behind one gate, a sandbox to run programs in, a journal. Rejects with a
 * `PortcullisError` where an option is wrong or the sandbox cannot run here. Dispose of it with `await using`.
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
  /** Aborts when the runtime closes, with a `PortcullisError` of the code `runtime_closed` as its reason. */
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
   * Runs a program to its ending and resolves with the report, however it ended. Rejects with a `PortcullisError`
   * only where an option is wrong, the runtime is closed, the sandbox cannot run or the journal cannot be written.
   */
  async execute(program: string, options: ExecuteOptions = {}): Promise<Report> {
    const scope = this.#scopeFor("execute", readOptions("execute", options, EXECUTE_RULES));
    if (typeof program !== "string") throw optionError("execute(program)", "source text", program);
    return reportOf(await this.#untilEnded(execute(scope, program)), scope.limits, this.tools);
  }

  /**
   * Gives a model a task and lets it work with the tools to an ending, and resolves with the report, however it
   * ended. Rejects with a `PortcullisError` only where an option is wrong, the model cannot be asked at all, the
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
   * A runtime with other tools on the same sandbox, with the same limits, approval and tenant. A tool that both have
   * keeps one count of its concurrent calls. It closes when this runtime closes; dispose of it to close it earlier.
   * Throws a `PortcullisError` where an option is wrong.
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

  /** An execution or a conversation in the journal, by its id. Whether the journal holds it is said by what is asked of it. */
  execution(id: ExecutionId): ExecutionHandle {
    const { journal, sandbox, closing } = this;
    return {
      id,
      records: () => journal.read(id),
      replay: async () => replay(await journal.read(id), sandbox, closing),
    };
  }

  /** Cancels what runs, waits for it, and ends every process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close.abort(new PortcullisError("runtime_closed", "The runtime was closed."));
    await Promise.allSettled(this.#running);
    if (this.#parts.ownsSandbox) await this.sandbox[Symbol.asyncDispose]();
  }

  /** The runtime's scope with the changes that one execution or conversation asks for. `subject` is the method that was called. */
  #scopeFor(subject: string, { language, tenant, signal, limits }: ScopeOptions): AgentScope {
    if (!this.sandbox.languages.includes(language))
      throw optionError(
        `${subject}({ language })`,
        `one that the ${this.sandbox.name} sandbox runs (${this.sandbox.languages.join(", ")})`,
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
 * One execution of a runtime's journal. Its methods reject with `execution_unknown` where the journal holds none of this
 * id.
 */
export interface ExecutionHandle {
  readonly id: ExecutionId;
  /** The records of the journal, the header first. */
  readonly records: () => Promise<readonly JournalRecord[]>;
  /**
   * Runs the program once more in a fresh guest, with the events that the journal holds, and says whether it did the
   * same. No handler runs. Rejects with `option_invalid` for a conversation, with `journal_invalid` or
   * `journal_version` for records that cannot be read, and with `runtime_closed`.
   */
  readonly replay: () => Promise<Replayed>;
}

/** A listener that fails, now or later, must not end a program. */
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
