import { type AgentReport, runAgent } from "./agent/agent.ts";
import type { AgentHost } from "./agent/agent-as-tool.ts";
import {
  AGENT_OPTIONS,
  type AgentOptions,
  checkAgentOptions,
  DEFAULT_TOKENS,
  DEFAULT_TURNS,
  programsFor,
} from "./agent/agent-options.ts";
import { type AgentEvent, isExecutionEvent } from "./agent/event.ts";
import type { Language } from "../bridge/frames.ts";
import { optionError, PortcullisError, refuseUnknownOptions } from "./errors.ts";
import type { Approve } from "./gate/approval.ts";
import { Gate } from "./gate/gate.ts";
import type { Journal } from "./journal/journal.ts";
import { createMemoryJournal } from "./journal/memory-journal.ts";
import { type Report, reportOf } from "./output/report.ts";
import { execute, type ExecutionEvent, type ExecutionRequest } from "./programs/execute.ts";
import { DEFAULT_LIMITS, type Limits, resolveLimits } from "./programs/limits.ts";
import { replay } from "./programs/replay.ts";
import type { Replayed } from "./programs/replay-turns.ts";
import { createDockerSandbox } from "./sandboxes/docker/docker-sandbox.ts";
import { createIsolateSandbox } from "./sandboxes/isolate/isolate-sandbox.ts";
import type { Sandbox } from "./sandboxes/sandbox.ts";
import { declareTools, type DeclarationOptions } from "./tools/declarations.ts";
import { nearest } from "./options/nearest.ts";
import type { Tool } from "./tools/tool.ts";
import { ToolSet } from "./tools/tool-set.ts";
import { HeldBytes } from "./values/held-bytes.ts";

export interface RuntimeOptions {
  readonly tools: readonly Tool[];
  /** Where programs run: `"isolate"` by default. A sandbox that is handed in is the caller's to dispose of. */
  readonly sandbox?: "isolate" | "docker" | Sandbox;
  /** Changes to the default limits. */
  readonly limits?: Partial<Limits>;
  /** Decides about calls of tools that need approval. */
  readonly approve?: Approve;
  /** Where executions are recorded: in memory by default. */
  readonly journal?: Journal;
  /** Tenant of executions that name none. Programs of two tenants never share a process. */
  readonly tenant?: string;
  /**
   * Bytes that all executions together may hold in this process's memory: texts that they sent, inputs, results. By
   * default a quarter of what V8's heap, or the machine, can have.
   */
  readonly heldBytes?: number;
  /** Told what happens as it happens. What it throws is ignored. */
  readonly onEvent?: (event: ExecutionEvent) => void;
}

export interface ExecuteOptions {
  readonly language?: Language;
  readonly limits?: Partial<Limits>;
  readonly tenant?: string;
  /** Cancels the execution. */
  readonly signal?: AbortSignal;
}

/** What a derived runtime has of its own; where one is left out, it has that of the runtime it is derived from. */
export type DeriveOptions = Pick<RuntimeOptions, "tools" | "journal" | "onEvent">;

const RUNTIME_OPTIONS = ["tools", "sandbox", "limits", "approve", "journal", "tenant", "heldBytes", "onEvent"];
const DERIVE_OPTIONS = ["tools", "journal", "onEvent"];
const EXECUTE_OPTIONS = ["language", "limits", "tenant", "signal"];
const TENANT = "default";
/** With less no program could be started. */
const LEAST_HELD_BYTES = 1024 * 1024;

/**
 * Makes a runtime: tools behind one gate, a sandbox to run programs in, a journal. Rejects with a
 * `PortcullisError` where an option is wrong or the sandbox cannot run here. Dispose of it with `await using`.
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  checkOptions("createRuntime", options, RUNTIME_OPTIONS);
  checkTenant("tenant", options.tenant);
  if (options.approve !== undefined && typeof options.approve !== "function")
    throw optionError("approve", "a function", options.approve);
  checkListener(options.onEvent);
  checkJournal(options.journal);
  const { heldBytes } = options;
  if (heldBytes !== undefined && !(Number.isSafeInteger(heldBytes) && heldBytes >= LEAST_HELD_BYTES))
    throw optionError("heldBytes", `a whole number from ${LEAST_HELD_BYTES}`, heldBytes);
  const gate = new Gate(new ToolSet(options.tools), options.approve, new HeldBytes(heldBytes));
  const limits = resolveLimits(DEFAULT_LIMITS, options.limits);
  const sandbox = sandboxOf(options.sandbox ?? "isolate");
  const runtime = new Runtime({ ...options, gate, limits, sandbox, ownsSandbox: sandbox !== options.sandbox });
  await sandbox.warm?.();
  return runtime;
}

interface Parts extends Omit<RuntimeOptions, "sandbox" | "limits" | "onEvent"> {
  readonly onEvent?: RuntimeOptions["onEvent"] | undefined;
  readonly gate: Gate;
  readonly limits: Limits;
  readonly sandbox: Sandbox;
  readonly ownsSandbox: boolean;
  /** The runtime that this one is derived from. */
  readonly parent?: Runtime;
}

/** Runs programs. Made by `createRuntime`. */
export class Runtime implements AsyncDisposable {
  readonly limits: Limits;
  readonly sandbox: Sandbox;
  readonly journal: Journal;
  /** Aborts when the runtime closes, with a `PortcullisError` of the code `runtime_closed` as its reason. */
  readonly closing: AbortSignal;
  readonly #gate: Gate;
  readonly #parts: Parts;
  readonly #close = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(parts: Parts) {
    this.limits = parts.limits;
    this.sandbox = parts.sandbox;
    this.journal = parts.journal ?? createMemoryJournal();
    this.closing = parts.parent ? AbortSignal.any([parts.parent.closing, this.#close.signal]) : this.#close.signal;
    this.#gate = parts.gate;
    this.#parts = parts;
  }

  get tools(): ToolSet {
    return this.#gate.tools;
  }

  /**
   * Runs a program to its ending and resolves with the report, however it ended. Rejects with a `PortcullisError`
   * only where an option is wrong, the runtime is closed, the sandbox cannot run or the journal cannot be written.
   */
  async execute(program: string, options: ExecuteOptions = {}): Promise<Report> {
    checkOptions("execute", options, EXECUTE_OPTIONS);
    if (typeof program !== "string") throw optionError("program", "source text", program);
    const circumstances = this.#circumstances(options);
    const onEvent = (event: AgentEvent) => isExecutionEvent(event) && this.#emit(event);
    const host = this.#host(onEvent, circumstances);
    const running = execute({ ...host, opener: host }, { source: program, ...circumstances });
    return reportOf(await this.#untilEnded(running), circumstances.limits, this.tools);
  }

  /**
   * Gives a model a task and lets it work with the tools to an ending, and resolves with the report, however it
   * ended. Rejects with a `PortcullisError` only where an option is wrong, the model cannot be asked at all, the
   * runtime is closed, the sandbox cannot run or the journal cannot be written.
   */
  async agent(options: AgentOptions): Promise<AgentReport> {
    checkOptions("agent", options, AGENT_OPTIONS);
    checkAgentOptions(options);
    const { model, task, maxTurns = DEFAULT_TURNS, maxTokens = DEFAULT_TOKENS } = options;
    const circumstances = this.#circumstances(options);
    const onEvent = (event: AgentEvent) => {
      emit(options.onEvent, event);
      if (isExecutionEvent(event)) this.#emit(event);
    };
    // Agents that are tools use the same `approve` as this conversation.
    const host = { ...this.#host(onEvent, circumstances), gate: this.#gateFor(options) };
    const programs = programsFor(options.programs, host.gate.tools);
    const request = { model, task, programs, maxTurns, maxTokens, ...circumstances };
    return this.#untilEnded(runAgent({ ...host, opener: host }, request));
  }

  /**
   * A runtime with other tools on the same sandbox, with the same limits, approval and tenant. A tool that both have
   * keeps one count of its concurrent calls. It closes when this runtime closes; dispose of it to close it earlier.
   * Throws a `PortcullisError` where an option is wrong.
   */
  derive(options: DeriveOptions): Runtime {
    checkOptions("derive", options, DERIVE_OPTIONS);
    const { tools, journal = this.journal, onEvent = this.#parts.onEvent } = options;
    checkJournal(journal);
    checkListener(onEvent);
    const gate = this.#gate.beside(new ToolSet(tools), this.#gate.approve);
    return new Runtime({ ...this.#parts, tools, journal, onEvent, gate, ownsSandbox: false, parent: this });
  }

  /** Typed stubs of the tools that programs may call, for a model to read. */
  declarations(options?: DeclarationOptions): string {
    return declareTools(this.tools.visibleTo(["programmatic"]), options);
  }

  /** Runs a journalled execution once more in a fresh guest and says whether it did the same. No handler runs. */
  async replay(execution: string): Promise<Replayed> {
    return replay(await this.journal.read(execution), this.sandbox, this.closing);
  }

  /** Cancels what runs, waits for it, and ends every process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close.abort(new PortcullisError("runtime_closed", "The runtime was closed."));
    await Promise.allSettled(this.#running);
    if (this.#parts.ownsSandbox) await this.sandbox[Symbol.asyncDispose]();
  }

  /** What is said about one piece of work, checked. */
  #circumstances(options: ExecuteOptions): Circumstances {
    const { language = "javascript", tenant = this.#parts.tenant ?? TENANT, signal } = options;
    if (!this.sandbox.languages.includes(language))
      throw optionError(
        "language",
        `one that the ${this.sandbox.name} sandbox runs (${this.sandbox.languages.join(", ")})`,
        language,
      );
    checkTenant("tenant", tenant);
    checkSignal(signal);
    const limits = resolveLimits(this.limits, options.limits);
    if (this.closing.aborted)
      throw new PortcullisError("runtime_closed", "The runtime is closed and takes no further programs.");
    const ending = signal ? AbortSignal.any([signal, this.closing]) : this.closing;
    return { language, limits, tenant, signal: ending };
  }

  #gateFor({ tools, approve }: AgentOptions): Gate {
    if (tools === undefined && approve === undefined) return this.#gate;
    return this.#gate.beside(tools === undefined ? this.tools : new ToolSet(tools), approve ?? this.#gate.approve);
  }

  /** What an agent stands on, be it a tool of one. */
  #host(onEvent: AgentHost["onEvent"], { language, limits, tenant }: Circumstances): AgentHost {
    return { sandbox: this.sandbox, gate: this.#gate, journal: this.journal, onEvent, language, limits, tenant };
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

  #emit(event: ExecutionEvent): void {
    emit(this.#parts.onEvent, event);
  }
}

type Circumstances = Omit<ExecutionRequest, "source">;

/** A listener that fails, now or later, must not end a program. */
function emit<Event>(listener: ((event: Event) => void) | undefined, event: Event): void {
  try {
    const result: unknown = listener?.(event);
    if (result instanceof Promise) result.catch(() => {});
  } catch {}
}

function sandboxOf(sandbox: "isolate" | "docker" | Sandbox): Sandbox {
  if (sandbox === "isolate") return createIsolateSandbox();
  if (sandbox === "docker") return createDockerSandbox();
  if (typeof sandbox === "object" && sandbox !== null && typeof sandbox.open === "function") return sandbox;
  throw optionError("sandbox", `"isolate", "docker" or a sandbox`, sandbox);
}

function checkListener(onEvent: unknown): void {
  if (onEvent !== undefined && typeof onEvent !== "function") throw optionError("onEvent", "a function", onEvent);
}

function checkJournal(journal: Journal | undefined): void {
  if (journal !== undefined && !isJournal(journal))
    throw optionError("journal", "a journal: create, append, read and list", journal);
}

function isJournal(journal: Partial<Journal> | null): boolean {
  if (typeof journal !== "object" || journal === null) return false;
  return [journal.create, journal.append, journal.read, journal.list].every((method) => typeof method === "function");
}

function checkTenant(option: string, tenant: unknown): void {
  if (tenant !== undefined && (typeof tenant !== "string" || tenant === "" || tenant.length > 256))
    throw optionError(option, "a name of 1 to 256 characters", tenant);
}

/** Throws `option_invalid` for what is no `AbortSignal`. */
export function checkSignal(signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw optionError("signal", "an AbortSignal", signal);
}

/** Throws `option_invalid` for what is no object, and for the first option that is not known. */
export function checkOptions(subject: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== "object" || options === null) throw optionError(`${subject}(options)`, "an object", options);
  refuseUnknownOptions(subject, options, known, (name) => nearest(name, known, 1)[0]);
}
